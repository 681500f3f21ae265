// read_growth: the bytes that were appended to a file, read together with everything that shows that nothing else has
// changed.
//
// On Linux only, and only the usual case. Everything else is left to Python, which does the same in several steps and
// knows what to do about it (`slpstream/sources/tail/tailer.py`).

#include "kernel.h"

#ifdef __linux__
#include <sys/stat.h>
#include <sys/uio.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace kernel {
namespace {

#if defined(__linux__) && defined(RWF_NOWAIT)

constexpr std::size_t max_growth_bytes = 1 << 14;  // on the stack; a frame has less than one kilobyte
constexpr std::size_t max_head_bytes = 1 << 12;

// Reads from the page cache. Returns less than 0 if that is not possible.
ssize_t read_cached(int descriptor, char *buffer, std::size_t size, off_t offset) {
    const iovec part{buffer, size};
    return preadv2(descriptor, &part, 1, offset, RWF_NOWAIT);
}

#endif

}  // namespace

// The reads do not wait, so the GIL is kept.
Owned read_growth(PyObject *, Arguments arguments) {
    const auto descriptor = number_of<int>(arguments[0]);
    const auto offset = number_of<std::int64_t>(arguments[1]);
    const Bytes head(arguments[2]);
    const auto checksum = number_of<std::uint32_t>(arguments[3]);
    const auto limit = number_of<std::size_t>(arguments[4]);
    if (descriptor < 0 || offset < 0) raise(PyExc_ValueError, "no growth of this file");
#if defined(__linux__) && defined(RWF_NOWAIT)
    std::array<char, max_growth_bytes> grown;
    std::array<char, max_head_bytes> found;
    struct stat status;
    const auto head_bytes = static_cast<std::size_t>(head.size);
    if (head_bytes > found.size() || offset > std::numeric_limits<off_t>::max()) return shared(Py_None);
    // The order of these system calls is important: if the file was written again, the head is read after that.
    const auto at = static_cast<off_t>(offset);
    const ssize_t size = read_cached(descriptor, grown.data(), std::min(limit, grown.size()), at);
    if (size <= 0 || read_cached(descriptor, found.data(), head_bytes, 0) != head.size) return shared(Py_None);
    if (fstat(descriptor, &status) != 0) return shared(Py_None);
    constexpr std::int64_t second_ns = 1'000'000'000;
    constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max() / second_ns;
    const std::int64_t seconds = status.st_mtim.tv_sec;
    if (std::memcmp(found.data(), head.begin, head_bytes) != 0 || status.st_nlink == 0 ||
        status.st_size != at + size || seconds < 0 || seconds >= latest)
        return shared(Py_None);
    const Owned data = checked(PyBytes_FromStringAndSize(grown.data(), size));
    const Owned new_checksum = call(arguments[5], data, integer(checksum));
    return checked(Py_BuildValue("OLOL", data.get(), static_cast<long long>(offset + size), new_checksum.get(),
                                 static_cast<long long>(seconds * second_ns + status.st_mtim.tv_nsec)));
#else
    return shared(Py_None);
#endif
}

}  // namespace kernel
