#include "kernels/cuda/modules.hpp"

#include <mutex>
#include <vector>

#include "kernels/cuda/driver.hpp"

namespace lacuna::kernels {
namespace {

constexpr unsigned int since = 12040;

std::vector<const void*>& noted() {
  static std::vector<const void*> all;
  return all;
}

CUmodule module_of(const void* kernel) {
  static const auto get_module = driver_function<CUresult (*)(CUmodule*, CUfunction)>("cuFuncGetModule", 11000);
  cudaFunction_t function = nullptr;
  must(cudaGetFuncBySymbol(&function, kernel), "cudaGetFuncBySymbol");
  CUmodule module = nullptr;
  must(get_module(&module, function), "cuFuncGetModule");
  return module;
}

std::vector<CUfunction> functions_of(CUmodule module) {
  static const auto count_in =
      driver_function<CUresult (*)(unsigned int*, CUmodule)>("cuModuleGetFunctionCount", since);
  static const auto enumerate =
      driver_function<CUresult (*)(CUfunction*, unsigned int, CUmodule)>("cuModuleEnumerateFunctions", since);
  unsigned int count = 0;
  must(count_in(&count, module), "cuModuleGetFunctionCount");
  std::vector<CUfunction> functions(count);
  must(enumerate(functions.data(), count, module), "cuModuleEnumerateFunctions");
  return functions;
}

}  // namespace

bool note_module(const void* kernel) {
  noted().push_back(kernel);
  return true;
}

void load_modules() {
  static std::mutex mutex;
  static bool are_loaded = false;
  const std::lock_guard lock(mutex);
  if (are_loaded) return;
  const auto load = driver_function<CUresult (*)(CUfunction)>("cuFuncLoad", since);
  for (const void* kernel : noted()) {
    for (CUfunction function : functions_of(module_of(kernel))) must(load(function), "cuFuncLoad");
  }
  are_loaded = true;
}

}  // namespace lacuna::kernels
