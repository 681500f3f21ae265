// The same bytes for many sockets: a frame for all of its subscribers.

#include "kernel.h"

#ifndef _WIN32

#include <climits>
#include <new>
#include <optional>
#include <sys/socket.h>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace kernel {
namespace {

#ifdef MSG_NOSIGNAL
constexpr int send_flags = MSG_DONTWAIT | MSG_NOSIGNAL;
#else
constexpr int send_flags = MSG_DONTWAIT;  // Python ignores SIGPIPE
#endif

constexpr std::size_t few = 8;  // writes that take less time than it takes to get the GIL back

using Shortfall = std::pair<Py_ssize_t, Py_ssize_t>;  // the index of a socket, and how many bytes it took

// Reads a list of descriptors. Sets an exception and returns false if one is not an int.
bool read_descriptors(PyObject *list, std::vector<int> &descriptors) {
    const Py_ssize_t count = PyList_Size(list);
    descriptors.reserve(static_cast<std::size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject *item = PyList_GetItem(list, i);
        if (!PyLong_CheckExact(item)) {  // so that no Python code changes the list meanwhile
            PyErr_SetString(PyExc_TypeError, "descriptors are integers");
            return false;
        }
        const long descriptor = PyLong_AsLong(item);
        if (descriptor == -1 && PyErr_Occurred() != nullptr) return false;
        descriptors.push_back(descriptor >= 0 && descriptor <= INT_MAX ? static_cast<int>(descriptor) : -1);
    }
    return true;
}

std::vector<Shortfall> send_each(const std::vector<int> &descriptors, const Bytes &data) {
    std::vector<Shortfall> shortfalls;
    std::optional<WithoutGil> others_run;
    if (descriptors.size() > few) others_run.emplace();
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
        ssize_t taken = -1;
        if (descriptors[i] >= 0)
            taken = send(descriptors[i], data.begin, static_cast<std::size_t>(data.size), send_flags);
        if (taken != data.size) shortfalls.emplace_back(static_cast<Py_ssize_t>(i), taken < 0 ? 0 : taken);
    }
    return shortfalls;
}

PyObject *list_of(const std::vector<Shortfall> &shortfalls) {
    PyObject *list = PyList_New(static_cast<Py_ssize_t>(shortfalls.size()));
    if (list == nullptr) return nullptr;
    for (std::size_t i = 0; i < shortfalls.size(); ++i) {
        PyObject *pair = Py_BuildValue("nn", shortfalls[i].first, shortfalls[i].second);
        if (pair == nullptr || PyList_SetItem(list, static_cast<Py_ssize_t>(i), pair) != 0) {
            Py_DECREF(list);
            return nullptr;
        }
    }
    return list;
}

}  // namespace

PyObject *send_to_all(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2 || !PyList_Check(arguments[0]) || !PyBytes_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "send_to_all takes a list of descriptors, and bytes");
        return nullptr;
    }
    try {
        std::vector<int> descriptors;
        if (!read_descriptors(arguments[0], descriptors)) return nullptr;
        return list_of(send_each(descriptors, Bytes(arguments[1])));
    } catch (const std::bad_alloc &) {
        return PyErr_NoMemory();
    }
}

}  // namespace kernel

#endif
