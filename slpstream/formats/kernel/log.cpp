// LogWriter gives the messages of a log their positions. Python does the same without the kernel
// (`slpstream/game/log_writer.py`).

#include "kernel.h"

#include <new>

namespace kernel {
namespace {

struct LogWriterMade {
    PyObject *mode = nullptr, *message = nullptr, *packed = nullptr, *content_of = nullptr, *name_of_frames = nullptr;
    PyObject *messages = nullptr;
    long long offset = -1, count = 0;  // of the newest message

    LogWriterMade() = default;
    LogWriterMade(const LogWriterMade &other)
        : mode(Py_XNewRef(other.mode)), message(Py_XNewRef(other.message)), packed(Py_XNewRef(other.packed)),
          content_of(Py_XNewRef(other.content_of)), name_of_frames(Py_XNewRef(other.name_of_frames)),
          offset(other.offset), count(other.count) {}
    LogWriterMade &operator=(const LogWriterMade &) = delete;
    ~LogWriterMade() {
        for (PyObject *object : {mode, message, packed, content_of, name_of_frames, messages}) Py_XDECREF(object);
    }
};

struct LogWriterObject {
    PyObject_HEAD
    LogWriterMade *made;
};

LogWriterMade &made_of(PyObject *object) { return *reinterpret_cast<LogWriterObject *>(object)->made; }

PyObject *new_writer(PyTypeObject *type, LogWriterMade *made) {
    if (made == nullptr) return PyErr_NoMemory();
    if (made->messages == nullptr) made->messages = PyList_New(0);
    auto *self = made->messages == nullptr ? nullptr : allocated<LogWriterObject>(type);
    if (self == nullptr) {
        delete made;
        return nullptr;
    }
    self->made = made;
    return reinterpret_cast<PyObject *>(self);
}

// LogWriter(mode, message, packed, content_of)
PyObject *writer_new(PyTypeObject *type, PyObject *arguments, PyObject *) {
    PyObject *mode, *message, *packed, *content_of;
    if (!PyArg_ParseTuple(arguments, "UOOO", &mode, &message, &packed, &content_of)) return nullptr;
    if (!PyType_Check(packed)) {
        PyErr_SetString(PyExc_TypeError, "the base class of packed frames is a type");
        return nullptr;
    }
    PyObject *name = PyUnicode_InternFromString("frame");
    if (name == nullptr) return nullptr;
    auto *made = new (std::nothrow) LogWriterMade;
    if (made != nullptr) {
        made->mode = Py_NewRef(mode);
        made->message = Py_NewRef(message);
        made->packed = Py_NewRef(packed);
        made->content_of = Py_NewRef(content_of);
        made->name_of_frames = Py_NewRef(name);
    }
    Py_DECREF(name);
    return new_writer(type, made);
}

PyObject *writer_copy(PyObject *object, PyObject *) {
    return new_writer(Py_TYPE(object), new (std::nothrow) LogWriterMade(made_of(object)));
}

PyObject *writer_begin(PyObject *object, PyObject *) {
    PyObject *messages = PyList_New(0);
    if (messages == nullptr) return nullptr;
    LogWriterMade &made = made_of(object);
    PyObject *before = made.messages;
    made.messages = messages;
    Py_DECREF(before);
    return Py_NewRef(messages);
}

// Appends a message with the next position.
PyObject *append(LogWriterMade &made, PyObject *game_id, PyObject *kind, PyObject *body, PyObject *frame,
                 PyObject *offset_object) {
    const long long offset = PyLong_AsLongLong(offset_object);
    if (offset == -1 && PyErr_Occurred()) return nullptr;
    const bool is_new = offset > made.offset;
    PyObject *at = PyLong_FromLongLong(is_new ? offset : made.offset);
    PyObject *count = PyLong_FromLongLong(is_new ? 0 : made.count + 1);
    PyObject *message = nullptr;
    if (at != nullptr && count != nullptr)
        message = PyObject_CallFunctionObjArgs(made.message, kind, game_id, made.mode, at, count, body, frame, nullptr);
    Py_XDECREF(at);
    Py_XDECREF(count);
    if (message == nullptr) return nullptr;
    const int failed = PyList_Append(made.messages, message);
    Py_DECREF(message);
    if (failed != 0) return nullptr;
    made.count = is_new ? 0 : made.count + 1;
    if (is_new) made.offset = offset;
    Py_RETURN_NONE;
}

PyObject *append_content(LogWriterMade &made, PyObject *game_id, PyObject *content, PyObject *offset) {
    if (!PyTuple_Check(content) || PyTuple_Size(content) != 3) {
        PyErr_SetString(PyExc_TypeError, "the content of a message is a tuple of three");
        return nullptr;
    }
    return append(made, game_id, PyTuple_GetItem(content, 0), PyTuple_GetItem(content, 1), PyTuple_GetItem(content, 2),
                  offset);
}

// write(game_id, content, offset)
PyObject *writer_write(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    if (count == 3) return append_content(made_of(object), arguments[0], arguments[1], arguments[2]);
    PyErr_SetString(PyExc_TypeError, "write takes a game id, a content and an offset");
    return nullptr;
}

// write_frame(game_id, frame, offset)
PyObject *writer_write_frame(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "write_frame takes a game id, a frame and an offset");
        return nullptr;
    }
    LogWriterMade &made = made_of(object);
    PyObject *result = nullptr, *number = nullptr;
    PyObject *content = PyObject_GetAttrString(arguments[1], "content");
    if (content == nullptr) return nullptr;
    if (PyType_IsSubtype(Py_TYPE(content), reinterpret_cast<PyTypeObject *>(made.packed))) {
        number = PyObject_GetAttrString(arguments[1], "number");
        if (number != nullptr)
            result = append(made, arguments[0], made.name_of_frames, content, number, arguments[2]);
    } else {
        PyObject *encoded = PyObject_CallFunctionObjArgs(made.content_of, arguments[1], nullptr);
        if (encoded != nullptr) result = append_content(made, arguments[0], encoded, arguments[2]);
        Py_XDECREF(encoded);
    }
    Py_XDECREF(number);
    Py_DECREF(content);
    return result;
}

PyMethodDef writer_methods[] = {
    {"begin", as_method(writer_begin), METH_NOARGS, "begin(): the list to which the next messages are appended."},
    {"copy", as_method(writer_copy), METH_NOARGS, "copy(): a writer that is independent from now on."},
    {"write", as_method(writer_write), METH_FASTCALL, "write(game_id, content, offset): write the next message."},
    {"write_frame", as_method(writer_write_frame), METH_FASTCALL,
     "write_frame(game_id, frame, offset): write the message of a frame."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot writer_slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(writer_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<LogWriterObject>)},
    {Py_tp_methods, writer_methods},
    {Py_tp_doc, const_cast<char *>("LogWriter(mode, message, packed, content_of): gives messages their positions.")},
    {0, nullptr},
};

}  // namespace

PyType_Spec log_writer_spec = {"slpstream.formats.kernel._kernel.LogWriter", sizeof(LogWriterObject), 0,
                               Py_TPFLAGS_DEFAULT, writer_slots};

}  // namespace kernel
