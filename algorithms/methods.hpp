#pragma once

// What programs may say to each method of methods.def beyond text.
#include "algorithms/ok_topk/ok_topk.hpp"
#include "algorithms/skip/importance.hpp"
#include "algorithms/skip/skip.hpp"
#include "algorithms/topk/topk.hpp"
