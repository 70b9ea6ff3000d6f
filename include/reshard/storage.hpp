// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_HPP
#define RESHARD_STORAGE_HPP

#include <reshard/bind/program.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/checkpoint_listing.hpp>
#include <reshard/storage/compare.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/model_state.hpp>
#include <reshard/storage/plan_file.hpp>
#include <reshard/storage/retention.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/save_async.hpp>
#include <reshard/storage/verify.hpp>

/// \file
/// Opens, loads, saves, converts and compares checkpoints through a group.

#endif
