// Values that the C interface refuses, of every function that takes them, and those at its limits that it takes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/bindings/c/c_given.hpp"

namespace lacuna {
namespace {

using test::Given;

class CValues : public test::OneCRank {};

struct Function {
  const char* name;
  lacuna_status (*call)(lacuna_communicator* rank, const Given& given);
  bool reduces = false, has_root = false, has_blocks = false, has_buffers = true;
};

const std::vector<Function> functions = {
    {"allreduce",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_allreduce(rank, &given.input, &given.output, given.as_reduction(), &given.options, nullptr);
     },
     true},
    {"reduce_scatter",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_reduce_scatter(rank, &given.input, &given.output, given.as_reduction(), &given.options, nullptr);
     },
     true},
    {"allgather",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_allgather(rank, &given.input, &given.output, &given.options, nullptr);
     }},
    {"broadcast",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_broadcast(rank, &given.input, given.root, &given.options, nullptr);
     },
     false, true},
    {"reduce",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_reduce(rank, &given.input, &given.output, given.as_reduction(), given.root, &given.options,
                            nullptr);
     },
     true, true},
    {"gather",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_gather(rank, &given.input, &given.output, given.root, &given.options, nullptr);
     },
     false, true},
    {"scatter",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_scatter(rank, &given.input, &given.output, given.root, &given.options, nullptr);
     },
     false, true},
    {"alltoall",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_alltoall(rank, &given.input, &given.output, &given.options, nullptr);
     }},
    {"scan",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_scan(rank, &given.input, &given.output, given.as_reduction(), &given.options, nullptr);
     },
     true},
    {"exclusive_scan",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_exclusive_scan(rank, &given.input, &given.output, given.as_reduction(), &given.options, nullptr);
     },
     true},
    {"reduce_scatterv",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_reduce_scatterv(rank, &given.input, &given.blocks, &given.output, given.as_reduction(),
                                     &given.options, nullptr);
     },
     true, false, true},
    {"allgatherv",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_allgatherv(rank, &given.input, &given.output, &given.blocks, &given.options, nullptr);
     },
     false, false, true},
    {"gatherv",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_gatherv(rank, &given.input, &given.output, &given.blocks, given.root, &given.options, nullptr);
     },
     false, true, true},
    {"scatterv",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_scatterv(rank, &given.input, &given.blocks, &given.output, given.root, &given.options, nullptr);
     },
     false, true, true},
    {"alltoallv",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_alltoallv(rank, &given.input, &given.blocks, &given.output, &given.blocks, &given.options,
                               nullptr);
     },
     false, false, true},
    {"barrier",
     [](lacuna_communicator* rank, const Given& given) { return lacuna_barrier(rank, &given.options, nullptr); }, false,
     false, false, false},
    {"send",
     [](lacuna_communicator* rank, const Given& given) {
       return lacuna_send(rank, &given.input, given.root, 0, &given.options, nullptr);
     },
     false, true},
};

/// Makes one value wrong; nothing where the function does not take it.
struct Wrong {
  const char* text;  ///< a part of what is said
  std::function<bool(const Function&, Given&)> make;
};

template <class Member, class Value>
std::function<bool(const Function&, Given&)> of_buffer(Member member, Value value) {
  return [=](const Function& function, Given& given) {
    given.input.*member = value;
    return function.has_buffers;
  };
}

const std::vector<Wrong> wrong = {
    {"dtype is -1, must be 0 .. 6", of_buffer(&lacuna_buffer::dtype, -1)},
    {"dtype is 7, must be 0 .. 6", of_buffer(&lacuna_buffer::dtype, 7)},
    {"dtype is 256, must be 0 .. 6", of_buffer(&lacuna_buffer::dtype, 256)},
    {"memory is -1, must be 0 .. 2", of_buffer(&lacuna_buffer::memory, -1)},
    {"memory is 3, must be 0 .. 2", of_buffer(&lacuna_buffer::memory, 3)},
    {"struct_size", of_buffer(&lacuna_buffer::struct_size, sizeof(lacuna_buffer) + 1)},
    {"struct_size", of_buffer(&lacuna_buffer::struct_size, std::size_t{0})},
    {"struct_size", of_buffer(&lacuna_buffer::struct_size, std::numeric_limits<std::size_t>::max())},
    {"reduction is -1, must be 0 .. 4",
     [](const Function& function, Given& given) {
       given.reduction = -1;
       return function.reduces;
     }},
    {"reduction is 5, must be 0 .. 4",
     [](const Function& function, Given& given) {
       given.reduction = 5;
       return function.reduces;
     }},
    {"-1, must be 0 .. 0",
     [](const Function& function, Given& given) {
       given.root = -1;
       return function.has_root;
     }},
    {"1, must be 0 .. 0",
     [](const Function& function, Given& given) {
       given.root = 1;
       return function.has_root;
     }},
    {"counts is null",
     [](const Function& function, Given& given) {
       given.blocks.counts = nullptr;
       return function.has_blocks;
     }},
    {"struct_size",
     [](const Function& function, Given& given) {
       given.blocks.struct_size = sizeof(lacuna_blocks) + 8;
       return function.has_blocks;
     }},
    {"struct_size",
     [](const Function&, Given& given) {
       given.options.struct_size = sizeof(lacuna_options) + 1;
       return true;
     }},
    {"struct_size",
     [](const Function&, Given& given) {
       given.options.struct_size = sizeof(std::size_t) - 1;
       return true;
     }},
    {"priority is -1, must be 0 .. 2",
     [](const Function&, Given& given) {
       given.options.priority = -1;
       return true;
     }},
    {"priority is 3, must be 0 .. 2",
     [](const Function&, Given& given) {
       given.options.priority = 3;
       return true;
     }},
    {"deadline",
     [](const Function&, Given& given) {
       given.options.deadline = -1e-9;
       return true;
     }},
    {"deadline",
     [](const Function&, Given& given) {
       given.options.deadline = std::nan("");
       return true;
     }},
};

TEST_F(CValues, EveryFunctionRefusesValuesThatAreNoneAndGoesOn) {
  for (const Function& function : functions) {
    for (const Wrong& one : wrong) {
      Given given;
      if (!one.make(function, given)) continue;
      EXPECT_EQ(function.call(rank_, given), LACUNA_INVALID_ARGUMENT) << function.name << ": " << one.text;
      EXPECT_NE(std::string(lacuna_last_error()).find(one.text), std::string::npos)
          << function.name << " says " << lacuna_last_error() << ", lacks " << one.text;
    }
    const Given given;
    EXPECT_EQ(function.call(nullptr, given), LACUNA_INVALID_ARGUMENT) << function.name;
    EXPECT_STREQ(lacuna_last_error(), "communicator is null") << function.name;
    EXPECT_EQ(lacuna_communicator_status(rank_), LACUNA_OK) << function.name;
  }
}

TEST_F(CValues, EveryFunctionTakesTheLargestAndTheSmallestThatIsAllowed) {
  for (const Function& function : functions) {
    if (std::string(function.name) == "send") continue;  // to itself: it would wait for its receive
    for (const double deadline : {0.0, 1e-9, 1e9, 1e300, std::numeric_limits<double>::infinity()}) {
      for (const int32_t priority : {0, 2}) {
        Given given;
        given.options.deadline = deadline == 1e-9 ? 1 : deadline;  // so soon nothing ends for sure
        given.options.priority = priority;
        EXPECT_EQ(function.call(rank_, given), LACUNA_OK) << function.name << ": " << lacuna_last_error();
      }
    }
    for (const int32_t dtype : {LACUNA_F32, LACUNA_U8}) {
      Given given;
      given.input.dtype = given.output.dtype = dtype;
      EXPECT_EQ(function.call(rank_, given), LACUNA_OK) << function.name << ": " << lacuna_last_error();
    }
  }
}

}  // namespace
}  // namespace lacuna
