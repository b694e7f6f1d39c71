// Tests of kernels run once per table that this machine has.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "cpu/kernels.h"

namespace indexshare::cpu {

class EachTable : public testing::TestWithParam<const Kernels*> {
 protected:
  const Kernels& table() const { return *GetParam(); }
};

}  // namespace indexshare::cpu

/// The names of the tests show which tables ran.
#define INDEXSHARE_FOR_EACH_TABLE(Suite)                                                              \
  INSTANTIATE_TEST_SUITE_P(Tables, Suite,                                                             \
                           testing::ValuesIn(available_kernels().begin(), available_kernels().end()), \
                           [](const auto& instance) { return std::string(instance.param->name); })
