// LogWriter gives the messages of a game's logs their positions. Python does the same without the kernel
// (`slpstream/game/log_writer.py`).

#include "kernel.h"

#include <cstdio>
#include <new>

namespace kernel {
namespace {

// The log of one mode.
struct Log {
    PyObject *mode = nullptr, *messages = nullptr;
    long long offset = -1, count = 0;  // of the newest message
};

// Texts that are needed for each frame.
struct Names {
    PyObject *content = nullptr, *number = nullptr, *end_offset = nullptr, *through = nullptr;
    PyObject *frame = nullptr, *finalized = nullptr;

    Names() = default;
    Names(const Names &other)
        : content(Py_XNewRef(other.content)), number(Py_XNewRef(other.number)), end_offset(Py_XNewRef(other.end_offset)),
          through(Py_XNewRef(other.through)), frame(Py_XNewRef(other.frame)), finalized(Py_XNewRef(other.finalized)) {}
    Names &operator=(const Names &) = delete;
    ~Names() {
        for (PyObject *name : {content, number, end_offset, through, frame, finalized}) Py_XDECREF(name);
    }

    bool make() {
        content = PyUnicode_InternFromString("content");
        number = PyUnicode_InternFromString("number");
        end_offset = PyUnicode_InternFromString("end_offset");
        through = PyUnicode_InternFromString("through");
        frame = PyUnicode_InternFromString("frame");
        finalized = PyUnicode_InternFromString("finalized");
        return content != nullptr && number != nullptr && end_offset != nullptr && through != nullptr &&
               frame != nullptr && finalized != nullptr;
    }
};

struct LogWriterMade {
    PyObject *message = nullptr, *packed = nullptr, *content_of = nullptr;
    Names names;
    Log live, finalized;  // without a mode if nobody wants this log

    LogWriterMade() = default;
    LogWriterMade(const LogWriterMade &other)
        : message(Py_XNewRef(other.message)), packed(Py_XNewRef(other.packed)),
          content_of(Py_XNewRef(other.content_of)), names(other.names), live(other.live), finalized(other.finalized) {
        for (Log *log : {&live, &finalized}) {
            Py_XINCREF(log->mode);
            log->messages = nullptr;
        }
    }
    LogWriterMade &operator=(const LogWriterMade &) = delete;
    ~LogWriterMade() {
        for (PyObject *object : {message, packed, content_of}) Py_XDECREF(object);
        for (Log *log : {&live, &finalized}) {
            Py_XDECREF(log->mode);
            Py_XDECREF(log->messages);
        }
    }

    // Appends a message with the next position to a log. Sets an exception and returns false if that fails.
    bool append(Log &log, PyObject *game_id, PyObject *kind, PyObject *body, PyObject *frame, long long offset) const {
        if (log.mode == nullptr) return true;
        if (log.messages == nullptr) {
            PyErr_SetString(PyExc_RuntimeError, "begin() comes first");
            return false;
        }
        const bool is_new = offset > log.offset;
        const Owned at(PyLong_FromLongLong(is_new ? offset : log.offset));
        const Owned count(PyLong_FromLongLong(is_new ? 0 : log.count + 1));
        if (!at || !count) return false;
        const Owned made(PyObject_CallFunctionObjArgs(message, kind, game_id, log.mode, at.get(), count.get(),
                                                         body, frame, nullptr));
        if (!made || PyList_Append(log.messages, made.get()) != 0) return false;
        log.count = is_new ? 0 : log.count + 1;
        if (is_new) log.offset = offset;
        return true;
    }

    bool append_content(Log &log, PyObject *game_id, PyObject *content, long long offset) const {
        if (!PyTuple_Check(content) || PyTuple_Size(content) != 3) {
            PyErr_SetString(PyExc_TypeError, "the content of a message is a tuple of three");
            return false;
        }
        return append(log, game_id, PyTuple_GetItem(content, 0), PyTuple_GetItem(content, 1),
                      PyTuple_GetItem(content, 2), offset);
    }

    bool append_frame(Log &log, PyObject *game_id, PyObject *frame, long long offset) const {
        if (log.mode == nullptr) return true;
        const Owned content(PyObject_GetAttr(frame, names.content));
        if (!content) return false;
        if (!PyType_IsSubtype(Py_TYPE(content.get()), reinterpret_cast<PyTypeObject *>(packed))) {
            const Owned encoded(PyObject_CallFunctionObjArgs(content_of, frame, nullptr));
            return encoded && append_content(log, game_id, encoded.get(), offset);
        }
        const Owned number(PyObject_GetAttr(frame, names.number));
        return number &&
               append(log, game_id, names.frame, content.get(), number.get(), offset);
    }
};

struct LogWriterObject {
    PyObject_HEAD
    LogWriterMade *made;
};

LogWriterMade &made_of(PyObject *object) { return *reinterpret_cast<LogWriterObject *>(object)->made; }

PyObject *new_writer(PyTypeObject *type, LogWriterMade *made) {
    if (made == nullptr) return PyErr_NoMemory();
    auto *self = allocated<LogWriterObject>(type);
    if (self == nullptr) {
        delete made;
        return nullptr;
    }
    self->made = made;
    return reinterpret_cast<PyObject *>(self);
}

// LogWriter(modes, message, packed, content_of)
PyObject *writer_new(PyTypeObject *type, PyObject *arguments, PyObject *) {
    PyObject *modes, *message, *packed, *content_of;
    if (!PyArg_ParseTuple(arguments, "O!OOO", &PyTuple_Type, &modes, &message, &packed, &content_of)) return nullptr;
    if (!PyType_Check(packed)) {
        PyErr_SetString(PyExc_TypeError, "the base class of packed frames is a type");
        return nullptr;
    }
    auto *made = new (std::nothrow) LogWriterMade;
    PyObject *self = new_writer(type, made);
    if (self == nullptr) return nullptr;
    made->message = Py_NewRef(message);
    made->packed = Py_NewRef(packed);
    made->content_of = Py_NewRef(content_of);
    if (!made->names.make()) {
        Py_DECREF(self);
        return nullptr;
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(modes); ++i) {
        PyObject *mode = PyTuple_GetItem(modes, i);
        const bool is_text = PyUnicode_Check(mode) != 0;
        Log *log = nullptr;
        if (is_text && PyUnicode_CompareWithASCIIString(mode, "live") == 0) log = &made->live;
        if (is_text && PyUnicode_CompareWithASCIIString(mode, "finalized") == 0) log = &made->finalized;
        if (log == nullptr || log->mode != nullptr) {
            PyErr_SetString(PyExc_ValueError, "the modes are live and finalized");
            Py_DECREF(self);
            return nullptr;
        }
        log->mode = Py_NewRef(mode);
    }
    return self;
}

PyObject *writer_copy(PyObject *object, PyObject *) {
    return new_writer(Py_TYPE(object), new (std::nothrow) LogWriterMade(made_of(object)));
}

// begin(): the lists of the next messages.
PyObject *writer_begin(PyObject *object, PyObject *) {
    LogWriterMade &made = made_of(object);
    PyObject *logs = PyDict_New();
    for (Log *log : {&made.live, &made.finalized}) {
        if (logs == nullptr || log->mode == nullptr) continue;
        PyObject *before = log->messages;
        log->messages = PyList_New(0);
        Py_XDECREF(before);
        if (log->messages == nullptr || PyDict_SetItem(logs, log->mode, log->messages) != 0) Py_CLEAR(logs);
    }
    return logs;
}

bool is_called_with(Py_ssize_t count, Py_ssize_t wanted) {
    if (count != wanted) PyErr_Format(PyExc_TypeError, "takes %zd arguments, not %zd", wanted, count);
    return count == wanted;
}

// The integer attribute of an event.
bool read_integer(PyObject *event, PyObject *name, long long &value) {
    const Owned found(PyObject_GetAttr(event, name));
    if (!found) return false;
    value = PyLong_AsLongLong(found.get());
    return value != -1 || PyErr_Occurred() == nullptr;
}

PyObject *none_if(bool succeeded) { return succeeded ? Py_NewRef(Py_None) : nullptr; }

// write(game_id, content, offset): to all logs.
PyObject *writer_write(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    if (!is_called_with(count, 3)) return nullptr;
    const long long offset = PyLong_AsLongLong(arguments[2]);
    if (offset == -1 && PyErr_Occurred() != nullptr) return nullptr;
    LogWriterMade &made = made_of(object);
    return none_if(made.append_content(made.live, arguments[0], arguments[1], offset) &&
                   made.append_content(made.finalized, arguments[0], arguments[1], offset));
}

// write_frame(game_id, frame): to the live log.
PyObject *writer_write_frame(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    LogWriterMade &made = made_of(object);
    long long offset;
    if (!is_called_with(count, 2) || !read_integer(arguments[1], made.names.end_offset, offset)) return nullptr;
    return none_if(made.append_frame(made.live, arguments[0], arguments[1], offset));
}

// write_finalized(game_id, event): to the live log.
PyObject *writer_write_finalized(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    LogWriterMade &made = made_of(object);
    long long offset, through;
    if (!is_called_with(count, 2) || !read_integer(arguments[1], made.names.end_offset, offset) ||
        !read_integer(arguments[1], made.names.through, through))
        return nullptr;
    char text[64];
    std::snprintf(text, sizeof text, "\"through\":%lld}", through);
    const Owned body(PyBytes_FromString(text));
    return none_if(body &&
                   made.append(made.live, arguments[0], made.names.finalized, body.get(), Py_None, offset));
}

// write_final_frame(game_id, frame, offset): to the finalized log.
PyObject *writer_write_final_frame(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    if (!is_called_with(count, 3)) return nullptr;
    const long long offset = PyLong_AsLongLong(arguments[2]);
    if (offset == -1 && PyErr_Occurred() != nullptr) return nullptr;
    LogWriterMade &made = made_of(object);
    return none_if(made.append_frame(made.finalized, arguments[0], arguments[1], offset));
}

PyMethodDef writer_methods[] = {
    {"begin", as_method(writer_begin), METH_NOARGS, "begin(): the lists to which the next messages are appended."},
    {"copy", as_method(writer_copy), METH_NOARGS, "copy(): a writer that is independent from now on."},
    {"write", as_method(writer_write), METH_FASTCALL, "write(game_id, content, offset): write a message to all logs."},
    {"write_frame", as_method(writer_write_frame), METH_FASTCALL,
     "write_frame(game_id, frame): write a frame to the live log."},
    {"write_finalized", as_method(writer_write_finalized), METH_FASTCALL,
     "write_finalized(game_id, event): write to the live log which frames are final."},
    {"write_final_frame", as_method(writer_write_final_frame), METH_FASTCALL,
     "write_final_frame(game_id, frame, offset): write a frame to the finalized log."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot writer_slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(writer_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<LogWriterObject>)},
    {Py_tp_methods, writer_methods},
    {Py_tp_doc, const_cast<char *>("LogWriter(modes, message, packed, content_of): gives messages their positions.")},
    {0, nullptr},
};

}  // namespace

PyType_Spec log_writer_spec = {"slpstream.formats.kernel._kernel.LogWriter", sizeof(LogWriterObject), 0,
                               Py_TPFLAGS_DEFAULT, writer_slots};

}  // namespace kernel
