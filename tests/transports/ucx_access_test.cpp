#include "transports/ucx_access.hpp"

#include <gtest/gtest.h>

namespace lacuna {
namespace {

TEST(UcxAccess, OnlyTheProcessItselfMovesBytesOverTcpAndCopiedSharedMemory) {
  EXPECT_EQ(
      ucx_access_in("#\n# UCP endpoint \n#\n#               peer: <no debug data>\n"
                    "#                 lane[0]:  3:sysv/memory.0 md[2]           -> md[2]/sysv/sysdev[255] am\n"
                    "#                 lane[1]:  1:tcp/eth0.0 md[1]              -> md[1]/tcp/sysdev[255] am_bw#0\n"
                    "#\n#                 am_send: 0..<egr/short>..93..<egr/bcopy>..8256..<rndv>..(inf)\n"),
      Access::Nobody);
  EXPECT_EQ(ucx_access_in("#      resource 0  :  md 0  dev 0  flags -- self/memory0\n"
                          "#      resource 4  :  md 3  dev 3  flags -- posix/memory\n"),
            Access::Nobody);
}

TEST(UcxAccess, PeersReachOverByCrossMemoryAttach) {
  EXPECT_EQ(ucx_access_in("# lane[0]:  3:sysv/memory.0 md[2] -> md[2]/sysv/sysdev[255] am\n"
                          "# lane[1]:  5:cma/memory.0 md[4] -> md[4]/cma/sysdev[255] rma_bw#0\n"),
            Access::Peers);
  EXPECT_EQ(ucx_access_in("#      resource 5  :  md 4  dev 3  flags -- cma/memory\n"), Access::Peers);
  EXPECT_EQ(ucx_access_in("# lane[0]:  5:xpmem/memory.0 md[4]\n"), Access::Peers);
}

TEST(UcxAccess, AnythingElseIsADevice) {
  EXPECT_EQ(ucx_access_in("# lane[0]:  4:rc_mlx5/mlx5_0:1.0 md[3] -> addr[0].md[3]/ib/sysdev[0] am am_bw#0\n"
                          "# lane[1]:  5:cma/memory.0 md[4]\n"),
            Access::Devices);
  EXPECT_EQ(ucx_access_in("# lane[0]:  <none>\n"), Access::Devices);
  EXPECT_EQ(ucx_access_in("no lane at all"), Access::Devices);
  EXPECT_EQ(ucx_access_in(""), Access::Devices);
}

}  // namespace
}  // namespace lacuna
