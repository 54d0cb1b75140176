// HDF5 as if it were built without thread safety. It says so, and no two threads may be in it at once.
#include <dlfcn.h>
#include <hdf5.h>

#include <atomic>
#include <thread>

#include "bindings/checkpoint/gradient_file.hpp"
#include "bindings/checkpoint/result_file.hpp"
#include "tests/bindings/checkpoint/checkpoint_fixture.hpp"

namespace {

std::atomic<int> inside = 0, meetings = 0;

/// Calls HDF5's own function of that name, and notices if another thread is in such a function meanwhile.
template <class... Arguments>
herr_t watched(const char* name, Arguments... arguments) {
  using Function = herr_t (*)(Arguments...);
  const auto function = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
  if (++inside > 1) ++meetings;
  for (int i = 0; i < 20; ++i) std::this_thread::yield();
  const herr_t result = function(arguments...);
  --inside;
  return result;
}

}  // namespace

extern "C" {

herr_t H5is_library_threadsafe(hbool_t* answer) {
  *answer = false;
  return 0;
}
herr_t H5Dwrite(hid_t dataset, hid_t memory, hid_t memory_space, hid_t file_space, hid_t plist, const void* data) {
  return watched("H5Dwrite", dataset, memory, memory_space, file_space, plist, data);
}
herr_t H5Dread(hid_t dataset, hid_t memory, hid_t memory_space, hid_t file_space, hid_t plist, void* data) {
  return watched("H5Dread", dataset, memory, memory_space, file_space, plist, data);
}
herr_t H5Fclose(hid_t file) { return watched("H5Fclose", file); }

}  // extern "C"

namespace lacuna::checkpoint {
namespace {

class CheckpointThreads : public CheckpointTest {
 protected:
  /// Runs both at the same time, each that often.
  template <class One, class Other>
  static void run_beside(int times, One one, Other other) {
    meetings = 0;
    std::atomic<int> ready = 0;
    const auto repeat = [&](auto& body) {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      for (int i = 0; i < times; ++i) body(i);
    };
    std::thread first([&] { repeat(one); });
    repeat(other);
    first.join();
    EXPECT_EQ(meetings, 0) << "two threads were in HDF5 at once";
  }
};

TEST_F(CheckpointThreads, SetsThatTwoThreadsWriteAndReadAtOnceAreWhole) {
  const std::filesystem::path one = directory_ / "one", other = directory_ / "other";
  for (const auto& folder : {one, other}) ASSERT_TRUE(std::filesystem::create_directory(folder));
  const auto write_to = [](const std::filesystem::path& folder) {
    return [&folder](int step) {
      EXPECT_TRUE(write_set(folder, step));
      expect_content(folder, step);
    };
  };
  run_beside(20, write_to(one), write_to(other));
  for (const auto& folder : {one, other}) {
    const Result<SetSearch> found = newest_set(folder, ranks);
    ASSERT_TRUE(found && found->set) << found.status().to_string();
    EXPECT_EQ(found->set->step, 19);
    EXPECT_TRUE(found->passed_over.empty());
    expect_content(folder, 19);
  }
}

TEST_F(CheckpointThreads, ResultsAndRecordedGradientsWaitForEachOtherToo) {
  const auto results = [this](int i) {
    const MethodResults dense{.method = "dense", .steps = {i}, .columns = {{.name = "loss", .values = {0.5}}}};
    EXPECT_TRUE(write_results(directory_ / "run.h5", {.provenance = {}, .methods = {dense}, .summary = {}}));
    EXPECT_TRUE(read_results(directory_ / "run.h5"));
  };
  const auto gradients = [this](int) {
    const std::filesystem::path path = directory_ / "gradients.h5";
    std::vector<float> values = content(1, 0);
    const StateItem tensor{"weights", Dtype::F32, values.data(), values.size()};
    ASSERT_TRUE(make_gradient_file(path, {.steps = {1}, .ranks = 1, .tensors = {tensor}, .attributes = {}}));
    EXPECT_TRUE(write_gradients(path, 1, 0, {&tensor, 1}));
    EXPECT_TRUE(mark_recorded(path, 1));
    std::vector<float> read(values.size());
    const Result<GradientFile> file = GradientFile::open(path);
    ASSERT_TRUE(file) << file.status().to_string();
    EXPECT_TRUE(file->read(1, 0, {"weights", Dtype::F32, read.data(), read.size()}));
    EXPECT_EQ(read, values);
  };
  run_beside(20, results, gradients);
}

}  // namespace
}  // namespace lacuna::checkpoint
