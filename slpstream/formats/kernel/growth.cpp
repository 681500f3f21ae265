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

constexpr std::size_t step_bytes = 8;
using Checksums = std::array<std::array<std::uint32_t, 256>, step_bytes>;

// The CRC-32 of each byte, followed by as many zeros as the index of its row.
constexpr Checksums checksums_of_bytes() {
    constexpr std::uint32_t polynomial = 0xEDB88320;
    Checksums made{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? polynomial : 0);
        made[0][byte] = value;
    }
    for (std::size_t row = 1; row < step_bytes; ++row)
        for (std::size_t byte = 0; byte < 256; ++byte)
            made[row][byte] = made[row - 1][byte] >> 8 ^ made[0][made[row - 1][byte] & 0xFF];
    return made;
}

constexpr Checksums checksums = checksums_of_bytes();

// The same as `zlib.crc32(data, checksum)`.
std::uint32_t crc32(const unsigned char *data, std::size_t size, std::uint32_t checksum) {
    std::uint32_t value = ~checksum;
    for (; size >= step_bytes; size -= step_bytes, data += step_bytes) {
        std::uint32_t next = 0;
        for (std::size_t i = 0; i < step_bytes; ++i) {
            const std::uint32_t before = i < sizeof value ? value >> 8 * i & 0xFF : 0;
            next ^= checksums[step_bytes - 1 - i][data[i] ^ before];
        }
        value = next;
    }
    for (; size > 0; --size, ++data) value = value >> 8 ^ checksums[0][(value ^ *data) & 0xFF];
    return ~value;
}

// Reads from the page cache. Returns less than 0 if that is not possible.
ssize_t read_cached(int descriptor, unsigned char *buffer, std::size_t size, off_t offset) {
    const iovec part{buffer, size};
    return preadv2(descriptor, &part, 1, offset, RWF_NOWAIT);
}

struct Growth {
    std::array<unsigned char, max_growth_bytes> data;
    std::size_t size;
    std::int64_t modified_ns;

    // Reads at most `limit` bytes from `offset`. Returns false if anything is unusual. The order of the three system
    // calls is important: if the file was written again, the head is read after that.
    bool read(int descriptor, std::int64_t offset, const Bytes &head, std::size_t limit) {
        std::array<unsigned char, max_head_bytes> found;
        struct stat status;
        const auto head_bytes = static_cast<std::size_t>(head.size);
        if (head_bytes > found.size() || offset > std::numeric_limits<off_t>::max()) return false;
        const auto at = static_cast<off_t>(offset);
        const ssize_t count = read_cached(descriptor, data.data(), std::min(limit, data.size()), at);
        if (count <= 0) return false;
        if (read_cached(descriptor, found.data(), head_bytes, 0) != head.size) return false;
        if (fstat(descriptor, &status) != 0) return false;
        size = static_cast<std::size_t>(count);
        constexpr std::int64_t second_ns = 1'000'000'000;
        constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max() / second_ns;
        const std::int64_t seconds = status.st_mtim.tv_sec;
        if (std::memcmp(found.data(), head.begin, head_bytes) != 0 || status.st_nlink == 0 ||
            status.st_size != at + count || seconds < 0 || seconds >= latest)
            return false;
        modified_ns = seconds * second_ns + status.st_mtim.tv_nsec;
        return true;
    }
};

// The reads do not wait, so the GIL is kept.
PyObject *growth_of(int descriptor, std::int64_t offset, const Bytes &head, std::uint32_t checksum, std::size_t limit) {
    Growth growth;
    if (!growth.read(descriptor, offset, head, limit)) return Py_NewRef(Py_None);
    const auto size = static_cast<Py_ssize_t>(growth.size);
    PyObject *data = PyBytes_FromStringAndSize(reinterpret_cast<const char *>(growth.data.data()), size);
    if (data == nullptr) return nullptr;
    return Py_BuildValue("NLIL", data, static_cast<long long>(offset + size), crc32(growth.data.data(), growth.size, checksum),
                         static_cast<long long>(growth.modified_ns));
}

#else

PyObject *growth_of(int, std::int64_t, const Bytes &, std::uint32_t, std::size_t) { return Py_NewRef(Py_None); }

#endif

}  // namespace

// read_growth(descriptor, offset, head, checksum, limit)
PyObject *read_growth(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 5 || !PyBytes_Check(arguments[2])) {
        PyErr_SetString(PyExc_TypeError, "read_growth takes descriptor, offset, head (bytes), checksum and limit");
        return nullptr;
    }
    const long descriptor = PyLong_AsLong(arguments[0]);
    const long long offset = PyLong_AsLongLong(arguments[1]);
    const unsigned long checksum = PyLong_AsUnsignedLong(arguments[3]);
    const Py_ssize_t limit = PyLong_AsSsize_t(arguments[4]);
    if (PyErr_Occurred()) return nullptr;
    if (descriptor < 0 || descriptor > std::numeric_limits<int>::max() || offset < 0 || limit < 0 ||
        checksum > std::numeric_limits<std::uint32_t>::max()) {
        PyErr_SetString(PyExc_ValueError, "no growth of this file");
        return nullptr;
    }
    return growth_of(static_cast<int>(descriptor), offset, Bytes(arguments[2]), static_cast<std::uint32_t>(checksum),
                     static_cast<std::size_t>(limit));
}

}  // namespace kernel
