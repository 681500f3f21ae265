/* Double-clicks a program of Windows: double_click.exe PROGRAM

Starts the program in a separate window, like the desktop. At the first byte of the input it writes the text of that
window, in UTF-8, presses Ctrl-C there and waits until the program ends. Ends with the program's exit code, or with 1000.
*/
#include <windows.h>
#include <shellapi.h>
#include <stdio.h>

static wchar_t row[1000];
static char bytes[4 * sizeof row];

static BOOL WINAPI stay(DWORD event) { return TRUE; }

static void write_text_of(HANDLE window) {
    CONSOLE_SCREEN_BUFFER_INFO shape;
    DWORD columns;

    if (!GetConsoleScreenBufferInfo(window, &shape)) return;
    for (COORD start = {0, 0}; start.Y <= shape.dwCursorPosition.Y; start.Y++) {
        if (!ReadConsoleOutputCharacterW(window, row, min(shape.dwSize.X, 1000), start, &columns)) return;
        int count = WideCharToMultiByte(CP_UTF8, 0, row, columns, bytes, sizeof bytes, NULL, NULL);
        fwrite(bytes, 1, count, stdout);
        putchar('\n');
    }
    fflush(stdout);
}

int wmain(int count, wchar_t **arguments) {
    SHELLEXECUTEINFOW click = {sizeof click, SEE_MASK_NOCLOSEPROCESS | SEE_MASK_NOASYNC};
    DWORD code = 1000;

    if (count != 2) return 1000;
    click.lpFile = arguments[1];
    click.nShow = SW_SHOWNORMAL;
    if (!ShellExecuteExW(&click)) return 1000;
    getchar();
    FreeConsole();
    if (!AttachConsole(GetProcessId(click.hProcess))) return 1000;
    write_text_of(CreateFileW(L"CONOUT$", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                              OPEN_EXISTING, 0, NULL));
    SetConsoleCtrlHandler(stay, TRUE);
    GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
    WaitForSingleObject(click.hProcess, INFINITE);
    GetExitCodeProcess(click.hProcess, &code);
    return code;
}
