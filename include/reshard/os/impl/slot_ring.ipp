// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_SLOT_RING_IPP
#define RESHARD_OS_IMPL_SLOT_RING_IPP

#include <reshard/os/slot_ring.hpp>

#include <reshard/core/config.hpp>

namespace reshard::detail {

RESHARD_DECL std::byte* ring_sender::slot() {
    if (filled_ - freed_ == slots_.count)
        freed_ = shared_->freed.load(std::memory_order_acquire);
    return filled_ - freed_ == slots_.count ? nullptr : slots_.at(filled_);
}

RESHARD_DECL std::byte const* ring_receiver::slot() {
    if (filled_ == freed_)
        filled_ = shared_->filled.load(std::memory_order_acquire);
    return filled_ == freed_ ? nullptr : slots_.at(freed_);
}

} // namespace reshard::detail

#endif
