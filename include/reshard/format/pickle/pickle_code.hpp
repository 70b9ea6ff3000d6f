// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_PICKLE_CODE_HPP
#define RESHARD_FORMAT_PICKLE_PICKLE_CODE_HPP

/// \file
/// The codes of pickles of protocols 2 to 5 that are read.

namespace reshard::detail {

/// What a byte of a pickle says is to be done.
///
/// \par Source the module pickletools of Python 3.11
enum class pickle_code : unsigned char {
    mark = '(',
    empty_tuple = ')',
    stop = '.',
    pop = '0',
    pop_mark = '1',
    dup = '2',
    binbytes = 'B',
    short_binbytes = 'C',
    binfloat = 'G',
    binint = 'J',
    binint1 = 'K',
    binint2 = 'M',
    none = 'N',
    binpersid = 'Q',
    reduce = 'R',
    binstring = 'T',
    short_binstring = 'U',
    binunicode = 'X',
    empty_list = ']',
    append = 'a',
    build = 'b',
    global = 'c',
    dict = 'd',
    appends = 'e',
    binget = 'h',
    long_binget = 'j',
    list = 'l',
    binput = 'q',
    long_binput = 'r',
    setitem = 's',
    tuple = 't',
    setitems = 'u',
    empty_dict = '}',
    proto = 0x80,
    newobj = 0x81,
    tuple1 = 0x85,
    tuple2 = 0x86,
    tuple3 = 0x87,
    newtrue = 0x88,
    newfalse = 0x89,
    long1 = 0x8a,
    long4 = 0x8b,
    short_binunicode = 0x8c,
    binunicode8 = 0x8d,
    binbytes8 = 0x8e,
    empty_set = 0x8f,
    additems = 0x90,
    frozenset = 0x91,
    newobj_ex = 0x92,
    stack_global = 0x93,
    memoize = 0x94,
    frame = 0x95,
    bytearray8 = 0x96,
};

} // namespace reshard::detail

#endif
