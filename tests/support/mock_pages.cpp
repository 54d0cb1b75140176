#include "tests/support/mock_pages.hpp"

namespace lacuna::test {
namespace {

thread_local DevicePages* computes_with = nullptr;

}  // namespace

ComputeWith::ComputeWith(DevicePages& pages) { computes_with = &pages; }
ComputeWith::~ComputeWith() { computes_with = nullptr; }

OpenPages::OpenPages() {
  if (computes_with) computes_with->open();
}
OpenPages::~OpenPages() {
  if (computes_with) computes_with->close();
}

}  // namespace lacuna::test
