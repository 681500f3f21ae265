// LogWriter writes the events of a game into its logs, and gives each message its position. Python does the same without
// the kernel (`slpstream/game/log_writer.py`).

#include "kernel.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>

namespace kernel {
namespace {

// The log of one mode.
struct Log {
    PyObject *mode = nullptr, *messages = nullptr;
    long long offset = -1, count = 0;  // of the newest message
};

// Names of attributes, and types of messages.
enum Name {
    content, number, revision, end_offset, through, frames, resent_frames, computer, feed, frame, finalized, name_count
};

constexpr std::array<const char *, name_count> texts{"content",       "number",   "revision", "end_offset",
                                                     "through",       "frames",   "resent_frames", "computer",
                                                     "feed",          "frame",    "finalized"};

// The types of what is read and made.
struct Types {
    PyObject *message = nullptr, *packed = nullptr, *frame = nullptr, *finalized = nullptr, *batch = nullptr;
    PyObject *content_of = nullptr;

    std::array<PyObject *, 6> all() const { return {message, packed, frame, finalized, batch, content_of}; }
};

constexpr long long no_frame = std::numeric_limits<long long>::min();

struct LogWriterMade {
    std::array<PyObject *, name_count> names{};
    Types types;
    PyObject *game_id = Py_NewRef(Py_None);
    long long last_frame = no_frame;  // the highest frame number
    Log live, finalized;  // without a mode if nobody wants this log

    LogWriterMade() = default;
    LogWriterMade(const LogWriterMade &other)
        : names(other.names), types(other.types), game_id(other.game_id), last_frame(other.last_frame), live(other.live),
          finalized(other.finalized) {
        live.messages = finalized.messages = nullptr;
        for_each([](PyObject *object) { Py_XINCREF(object); });
    }
    LogWriterMade &operator=(const LogWriterMade &) = delete;
    ~LogWriterMade() {
        for_each([](PyObject *object) { Py_XDECREF(object); });
    }

    // Calls `act` with everything that it refers to.
    template <typename Act>
    void for_each(Act act) {
        for (PyObject *name : names) act(name);
        for (PyObject *object : types.all()) act(object);
        for (PyObject *object : {game_id, live.mode, live.messages, finalized.mode, finalized.messages}) act(object);
    }

    bool make_names() {
        for (std::size_t i = 0; i < name_count; ++i) {
            names[i] = PyUnicode_InternFromString(texts[i]);
            if (names[i] == nullptr) return false;
        }
        return true;
    }

    bool is(PyObject *object, PyObject *type) const { return reinterpret_cast<PyObject *>(Py_TYPE(object)) == type; }

    // The integer attribute of an event. Sets an exception and returns false if that fails.
    bool read(PyObject *event, Name name, long long &value) const {
        const Owned found(PyObject_GetAttr(event, names[name]));
        if (!found) return false;
        value = PyLong_AsLongLong(found.get());
        return value != -1 || PyErr_Occurred() == nullptr;
    }

    // Appends a message with the next position to a log. Sets an exception and returns false if that fails.
    bool append(Log &log, PyObject *kind, PyObject *body, PyObject *frame_number, long long offset) const {
        if (log.mode == nullptr) return true;
        if (log.messages == nullptr) {
            PyErr_SetString(PyExc_RuntimeError, "there is no batch yet");
            return false;
        }
        const bool is_new = offset > log.offset;
        const Owned at(PyLong_FromLongLong(is_new ? offset : log.offset));
        const Owned count(PyLong_FromLongLong(is_new ? 0 : log.count + 1));
        if (!at || !count) return false;
        const Owned made(PyObject_CallFunctionObjArgs(types.message, kind, game_id, log.mode, at.get(), count.get(), body,
                                                      frame_number, nullptr));
        if (!made || PyList_Append(log.messages, made.get()) != 0) return false;
        log.count = is_new ? 0 : log.count + 1;
        if (is_new) log.offset = offset;
        return true;
    }

    bool append_content(Log &log, PyObject *content, long long offset) const {
        if (!PyTuple_Check(content) || PyTuple_Size(content) != 3) {
            PyErr_SetString(PyExc_TypeError, "the content of a message is a tuple of three");
            return false;
        }
        return append(log, PyTuple_GetItem(content, 0), PyTuple_GetItem(content, 1), PyTuple_GetItem(content, 2),
                      offset);
    }

    bool append_frame(Log &log, PyObject *event, long long offset) const {
        if (log.mode == nullptr) return true;
        const Owned found(PyObject_GetAttr(event, names[content]));
        if (!found) return false;
        if (!PyType_IsSubtype(Py_TYPE(found.get()), reinterpret_cast<PyTypeObject *>(types.packed))) {
            const Owned encoded(PyObject_CallFunctionObjArgs(types.content_of, event, nullptr));
            return encoded && append_content(log, encoded.get(), offset);
        }
        const Owned frame_number(PyObject_GetAttr(event, names[number]));
        return frame_number && append(log, names[frame], found.get(), frame_number.get(), offset);
    }

    // The lists of the next messages, by mode.
    PyObject *begin_batch() {
        PyObject *logs = PyDict_New();
        for (Log *log : {&live, &finalized}) {
            if (logs == nullptr || log->mode == nullptr) continue;
            PyObject *before = log->messages;
            log->messages = PyList_New(0);
            Py_XDECREF(before);
            if (log->messages == nullptr || PyDict_SetItem(logs, log->mode, log->messages) != 0) Py_CLEAR(logs);
        }
        return logs;
    }
};

// A call of `write_events`: what it makes, whom to call, and what was counted.
struct Batch {
    LogWriterMade &made;
    PyObject *batch, *deriver, *write_other;
    long long frames = 0, resent = 0;

    bool call_other(PyObject *event) const {
        return static_cast<bool>(Owned(PyObject_CallFunctionObjArgs(write_other, batch, event, nullptr)));
    }

    bool write_frame(PyObject *event) {
        long long offset, frame_number, sent_before;
        if (!made.read(event, end_offset, offset) || !made.read(event, number, frame_number) ||
            !made.read(event, revision, sent_before))
            return false;
        ++frames;
        resent += sent_before > 0;
        made.last_frame = std::max(made.last_frame, frame_number);
        return made.append_frame(made.live, event, offset);
    }

    // Writes a final frame, and what is derived from it.
    bool write_final_frame(PyObject *event, PyObject *computer, PyObject *offset_object, long long offset) const {
        if (!made.append_frame(made.finalized, event, offset)) return false;
        if (computer == Py_None) return true;
        const Owned derived(PyObject_CallMethodObjArgs(computer, made.names[feed], event, offset_object, nullptr));
        if (!derived) return false;
        if (!PyList_Check(derived.get())) {
            PyErr_SetString(PyExc_TypeError, "what is derived from a frame is a list");
            return false;
        }
        for (Py_ssize_t i = 0; i < PyList_Size(derived.get()); ++i)
            if (!call_other(PyList_GetItem(derived.get(), i))) return false;
        return true;
    }

    bool write_finalized(PyObject *event) const {
        long long number_through;
        const Owned offset_object(PyObject_GetAttr(event, made.names[end_offset]));
        if (!offset_object) return false;
        const Owned final(PyObject_GetAttr(event, made.names[Name::frames]));
        if (!final) return false;
        const Owned computer(PyObject_GetAttr(deriver, made.names[Name::computer]));
        if (!computer || !made.read(event, through, number_through)) return false;
        const long long offset = PyLong_AsLongLong(offset_object.get());
        if (offset == -1 && PyErr_Occurred() != nullptr) return false;
        char text[64] = "\"through\":";
        char *end = std::to_chars(text + std::strlen(text), std::end(text) - 1, number_through).ptr;
        *end++ = '}';
        const Owned body(PyBytes_FromStringAndSize(text, end - text));
        if (!body || !made.append(made.live, made.names[Name::finalized], body.get(), Py_None, offset)) return false;
        const Py_ssize_t count = PySequence_Size(final.get());
        for (Py_ssize_t i = 0; i < count; ++i) {
            const Owned event_of_frame(PySequence_GetItem(final.get(), i));
            if (!event_of_frame || !write_final_frame(event_of_frame.get(), computer.get(), offset_object.get(), offset))
                return false;
        }
        return count >= 0;
    }

    // Sets what was counted.
    bool finish() const {
        if (frames == 0) return true;
        const Owned count(PyLong_FromLongLong(frames)), resent_count(PyLong_FromLongLong(resent));
        return count && resent_count && PyObject_SetAttr(batch, made.names[Name::frames], count.get()) == 0 &&
               PyObject_SetAttr(batch, made.names[resent_frames], resent_count.get()) == 0;
    }

    bool write(PyObject *event) {
        if (made.is(event, made.types.frame)) return write_frame(event);
        if (made.is(event, made.types.finalized)) return write_finalized(event);
        return call_other(event);
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

// LogWriter(modes, (message, packed, frame, finalized, batch, content_of))
PyObject *writer_new(PyTypeObject *type, PyObject *arguments, PyObject *) {
    PyObject *modes;
    Types types;
    if (!PyArg_ParseTuple(arguments, "O!(OO!OOOO)", &PyTuple_Type, &modes, &types.message, &PyType_Type, &types.packed,
                          &types.frame, &types.finalized, &types.batch, &types.content_of))
        return nullptr;
    auto *made = new (std::nothrow) LogWriterMade;
    PyObject *self = new_writer(type, made);
    if (self == nullptr) return nullptr;
    made->types = types;
    for (PyObject *object : types.all()) Py_INCREF(object);
    if (!made->make_names()) {
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

bool is_called_with(Py_ssize_t count, Py_ssize_t wanted) {
    if (count != wanted) PyErr_Format(PyExc_TypeError, "takes %zd arguments, not %zd", wanted, count);
    return count == wanted;
}

// begin_game(game_id): the messages from now on belong to this game.
PyObject *writer_begin_game(PyObject *object, PyObject *game_id) {
    LogWriterMade &made = made_of(object);
    PyObject *before = made.game_id;
    made.game_id = Py_NewRef(game_id);
    Py_DECREF(before);
    Py_RETURN_NONE;
}

// write(content, offset): to all logs.
PyObject *writer_write(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    if (!is_called_with(count, 2)) return nullptr;
    const long long offset = PyLong_AsLongLong(arguments[1]);
    if (offset == -1 && PyErr_Occurred() != nullptr) return nullptr;
    LogWriterMade &made = made_of(object);
    if (!made.append_content(made.live, arguments[0], offset) ||
        !made.append_content(made.finalized, arguments[0], offset))
        return nullptr;
    Py_RETURN_NONE;
}

// write_events(events, deriver, write_other): a new batch with the messages of these events.
PyObject *writer_write_events(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    if (!is_called_with(count, 3)) return nullptr;
    PyObject *events = arguments[0];
    if (!PyList_Check(events)) {
        PyErr_SetString(PyExc_TypeError, "the events are a list");
        return nullptr;
    }
    LogWriterMade &made = made_of(object);
    const Owned logs(made.begin_batch());
    if (!logs) return nullptr;
    const Owned made_batch(PyObject_CallFunctionObjArgs(made.types.batch, logs.get(), nullptr));
    if (!made_batch) return nullptr;
    Batch batch{made, made_batch.get(), arguments[1], arguments[2]};
    for (Py_ssize_t i = 0; i < PyList_Size(events); ++i) {
        const Owned event(Py_NewRef(PyList_GetItem(events, i)));
        if (!batch.write(event.get())) return nullptr;
    }
    return batch.finish() ? Py_NewRef(made_batch.get()) : nullptr;
}

PyObject *writer_last_frame(PyObject *object, void *) {
    const long long number = made_of(object).last_frame;
    return number == no_frame ? Py_NewRef(Py_None) : PyLong_FromLongLong(number);
}

PyGetSetDef writer_attributes[] = {
    {"last_frame", writer_last_frame, nullptr, "The highest frame number, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef writer_methods[] = {
    {"begin_game", as_method(writer_begin_game), METH_O, "begin_game(game_id): the next messages belong to this game."},
    {"copy", as_method(writer_copy), METH_NOARGS, "copy(): a writer that is independent from now on."},
    {"write", as_method(writer_write), METH_FASTCALL, "write(content, offset): write a message to all logs."},
    {"write_events", as_method(writer_write_events), METH_FASTCALL,
     "write_events(events, deriver, write_other): a new batch with the messages of these events."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot writer_slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(writer_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<LogWriterObject>)},
    {Py_tp_methods, writer_methods},
    {Py_tp_getset, writer_attributes},
    {Py_tp_doc, const_cast<char *>("LogWriter(modes, types): writes events into logs.")},
    {0, nullptr},
};

}  // namespace

PyType_Spec log_writer_spec = {"slpstream.formats.kernel._kernel.LogWriter", sizeof(LogWriterObject), 0,
                               Py_TPFLAGS_DEFAULT, writer_slots};

}  // namespace kernel
