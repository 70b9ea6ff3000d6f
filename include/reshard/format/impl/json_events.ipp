// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_JSON_EVENTS_IPP
#define RESHARD_FORMAT_IMPL_JSON_EVENTS_IPP

#include <reshard/format/json_events.hpp>

namespace reshard::detail {

RESHARD_DECL std::string sentence(boost::json::error_code ec) {
    if (ec == boost::json::error::too_deep)
        return "arrays and objects are nested too deeply";
    if (ec == boost::json::error::incomplete)
        return "the JSON text ends too early";
    return "JSON " + ec.message();
}

} // namespace reshard::detail

#endif
