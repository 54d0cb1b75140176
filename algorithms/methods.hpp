#pragma once

// Programs include this header for the C++ options, measures and states of all methods of methods.def.
#include "algorithms/ok_topk/ok_topk.hpp"
#include "algorithms/skip/importance.hpp"
#include "algorithms/skip/skip.hpp"
#include "algorithms/topk/topk.hpp"
