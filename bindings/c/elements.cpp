#include "bindings/c/interface.hpp"
#include "runtime/values/float16.hpp"

lacuna_bf16 lacuna_to_bf16(float value) { return {lacuna::to_bf16(value).bits}; }
lacuna_f16 lacuna_to_f16(float value) { return {lacuna::to_f16(value).bits}; }
float lacuna_from_bf16(lacuna_bf16 value) { return lacuna::to_float(lacuna::bf16{value.bits}); }
float lacuna_from_f16(lacuna_f16 value) { return lacuna::to_float(lacuna::f16{value.bits}); }
