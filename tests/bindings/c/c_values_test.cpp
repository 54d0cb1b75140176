// Values that the C interface refuses, in every function that takes them, and values at its limits that it takes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "runtime/values/collective.hpp"
#include "tests/bindings/c/c_given.hpp"

namespace lacuna {
namespace {

using test::Given;

class CValues : public test::OneCRank {};

struct Function {
  std::string name;
  std::function<lacuna_status(lacuna_communicator* rank, const Given& given)> call;
  bool reduces = false, has_root = false, has_blocks = false, has_buffers = true;
};

/// Returns lacuna_execute() with each collective, and a function of messages.
std::vector<Function> all_functions() {
  std::vector<Function> all;
  for (const CollectiveTraits& traits : collective_traits) {
    const auto execute = [&traits](lacuna_communicator* rank, const Given& given) {
      const lacuna_call call = {sizeof(lacuna_call),
                                static_cast<int32_t>(traits.collective),
                                given.reduction,
                                given.root,
                                &given.input,
                                &given.output,
                                &given.blocks,
                                &given.blocks,
                                nullptr,
                                nullptr,
                                nullptr};
      return lacuna_execute(rank, &call, &given.options, nullptr);
    };
    all.push_back({std::string(traits.name), execute, traits.reduces, has_root(traits.collective),
                   has_tables(traits.collective), moves_data(traits.collective)});
  }
  const auto send = [](lacuna_communicator* rank, const Given& given) {
    return lacuna_send(rank, &given.input, given.root, 0, &given.options, nullptr);
  };
  all.push_back({"send", send, false, true});
  return all;
}

const std::vector<Function> functions = all_functions();

/// Makes one value wrong. It is nothing where the function does not take the value.
struct Wrong {
  const char* text;  ///< a part of the error's text
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
    {"dtype is -1, must be 0 .. 24", of_buffer(&lacuna_buffer::dtype, -1)},
    {"dtype is 25, must be 0 .. 24", of_buffer(&lacuna_buffer::dtype, 25)},
    {"dtype is 256, must be 0 .. 24", of_buffer(&lacuna_buffer::dtype, 256)},
    {"memory is -1, must be 0 .. 3", of_buffer(&lacuna_buffer::memory, -1)},
    {"memory is 4, must be 0 .. 3", of_buffer(&lacuna_buffer::memory, 4)},
    {"struct_size", of_buffer(&lacuna_buffer::struct_size, sizeof(lacuna_buffer) + 1)},
    {"struct_size", of_buffer(&lacuna_buffer::struct_size, std::size_t{0})},
    {"struct_size", of_buffer(&lacuna_buffer::struct_size, std::numeric_limits<std::size_t>::max())},
    {"reduction is -1, must be 0 .. 5",
     [](const Function& function, Given& given) {
       given.reduction = -1;
       return function.reduces;
     }},
    {"reduction is 6, must be 0 .. 5",
     [](const Function& function, Given& given) {
       given.reduction = 6;
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
    if (function.name == "send") continue;  // a message to the own rank would wait for its receive
    for (const double deadline : {0.0, 1e-9, 1e9, 1e300, std::numeric_limits<double>::infinity()}) {
      for (const int32_t priority : {0, 2}) {
        Given given;
        given.options.deadline = deadline == 1e-9 ? 1 : deadline;  // nothing ends for sure after so short a deadline
        given.options.priority = priority;
        EXPECT_EQ(function.call(rank_, given), LACUNA_OK) << function.name << ": " << lacuna_last_error();
      }
    }
    for (const int32_t dtype : {LACUNA_F32, LACUNA_U32}) {
      Given given;
      given.input.dtype = given.output.dtype = dtype;
      EXPECT_EQ(function.call(rank_, given), LACUNA_OK) << function.name << ": " << lacuna_last_error();
    }
  }
}

}  // namespace
}  // namespace lacuna
