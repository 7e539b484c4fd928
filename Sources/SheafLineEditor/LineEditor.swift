#if LineEditing
    import CEdit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// An editor of lines at a terminal, with history and completion, by libedit.
    ///
    /// It sets the terminal to single characters only while it reads a line.
    package final class LineEditor {
        /// Whether lines can be edited; without libedit they are read as the terminal sends them.
        package static let canEdit = true

        private let editor: OpaquePointer
        private let history: OpaquePointer
        /// The file of the history; nil if there is none, or it cannot be read.
        private var file: HistoryFile?
        private let output: UnsafeMutablePointer<FILE>
        private let signals: TerminalSignals
        private let bytes: TypedBytes
        private var isInterrupted = false
        private var promptWidth = 0
        private var promptCopy: UnsafeMutablePointer<CChar>?
        /// Returns the candidates for insertion between two texts.
        package var complete: (_ before: String, _ after: String) -> LineCompletion = { _, _ in
            .none
        }
        /// The message of an error that prevented loading the history, or nil.
        package private(set) var historyError: String?

        /// Creates an editor for the terminal; nil if it has none, or memory is exhausted.
        ///
        /// `historyPath` is the file of the history; without it, the history ends with the shell.
        package init?(_ signals: TerminalSignals, historyPath: String?) {
            Self.chooseUTF8()
            // Prompts appear on the terminal, even if standard output is a file or a pipe.
            let descriptor =
                isatty(STDOUT_FILENO) == 1
                ? dup(STDOUT_FILENO) : open("/dev/tty", O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            guard let output = fdopen(descriptor, "w") else {
                close(descriptor)
                return nil
            }
            guard let editor = sheaf_edit_create("sheaf", output), let history = history_init()
            else {
                fclose(output)
                return nil
            }
            (self.editor, self.history, self.output, self.signals) =
                (editor, history, output, signals)
            bytes = TypedBytes(signals: signals)
            file = historyPath.map(HistoryFile.init(path:))
            _ = sheaf_history_set_number(history, H_SETSIZE, Int32(HistoryFile.maximumCount))
            _ = sheaf_history_set_number(history, H_SETUNIQUE, 1)
            historyError = file?.load(into: history)
            // A file of another format is not changed.
            if historyError != nil { file = nil }
            configure()
        }

        deinit {
            el_end(editor)
            history_end(history)
            fclose(output)
            free(promptCopy)
        }

        private func configure() {
            sheaf_edit_set_owner(editor, Unmanaged.passUnretained(self).toOpaque())
            sheaf_edit_set_prompt(editor) { editor in
                LineEditor.owner(editor)?.promptCopy
            }
            sheaf_edit_set_text(editor, EL_EDITOR, "emacs")
            sheaf_edit_set_history(editor, history)
            sheaf_edit_set_reader(editor) { editor, character in
                LineEditor.owner(editor)?.readCharacter(character) ?? -1
            }
            // Ctrl-C is a key while a line is edited, and a signal at all other times.
            sheaf_edit_set_terminal(editor, "-isig")
            sheaf_edit_add_function(editor, "sheaf-interrupt", "Discard the line") { editor, _ in
                LineEditor.owner(editor)?.interrupt() ?? UInt8(CC_ERROR)
            }
            sheaf_edit_add_function(editor, "sheaf-complete", "Complete the word") { editor, _ in
                LineEditor.owner(editor)?.completeWord() ?? UInt8(CC_ERROR)
            }
            sheaf_edit_add_function(editor, "sheaf-stop", "Stop the process") { editor, _ in
                LineEditor.owner(editor)?.stop() ?? UInt8(CC_ERROR)
            }
            let keys = [
                ("^C", "sheaf-interrupt"), ("^Z", "sheaf-stop"), ("^I", "sheaf-complete"),
                ("^R", "em-inc-search-prev"), ("^W", "ed-delete-prev-word"),
                ("\\e[3~", "ed-delete-next-char"), ("\\e[1~", "ed-move-to-beg"),
                ("\\e[4~", "ed-move-to-end"), ("\\e[H", "ed-move-to-beg"),
                ("\\e[F", "ed-move-to-end"), ("\\eOH", "ed-move-to-beg"),
                ("\\eOF", "ed-move-to-end"), ("\\e[1;5C", "em-next-word"),
                ("\\e[1;5D", "ed-prev-word"), ("\\eb", "ed-prev-word"), ("\\ef", "em-next-word"),
            ]
            for (key, function) in keys { sheaf_edit_bind(editor, key, function) }
            // The user's own bindings, if there are any.
            _ = el_source(editor, nil)
        }

        /// Selects a locale with UTF-8: that of the environment, or else a usual one.
        private static func chooseUTF8() {
            for name in ["", "C.UTF-8", "en_US.UTF-8"] {
                guard setlocale(LC_CTYPE, name) != nil else { continue }
                if let codeset = nl_langinfo(nl_item(CODESET)), String(cString: codeset) == "UTF-8"
                {
                    return
                }
            }
        }

        private static func owner(_ editor: OpaquePointer?) -> LineEditor? {
            guard let editor, let owner = sheaf_edit_owner(editor) else { return nil }
            return Unmanaged<LineEditor>.fromOpaque(owner).takeUnretainedValue()
        }

        // MARK: Lines

        /// Shows a prompt and reads a line.
        package func read(prompt: String) -> LineInput {
            free(promptCopy)
            promptCopy = strdup(prompt)
            promptWidth = prompt.unicodeScalars.count
            isInterrupted = false
            signals.discardInterruptions()
            // The size may have changed while the terminal was not read.
            el_resize(editor)
            // Keys typed after the prompt appears must not be echoed by the terminal.
            sheaf_edit_set_number(editor, EL_PREP_TERM, 1)
            var count: Int32 = 0
            errno = 0
            guard let line = el_gets(editor, &count), count > 0 else {
                guard isInterrupted else { return .end }
                return .interruption
            }
            if isInterrupted { return .interruption }
            let bytes = UnsafeRawBufferPointer(start: line, count: Int(count))
            var text = String(decoding: bytes, as: UTF8.self)
            if text.utf8.last == 0x0A { text.removeLast() }
            return .text(text)
        }

        /// Adds an entry to the history and its file; returns a message if it cannot be written.
        ///
        /// An entry equal to the previous one is not added again.
        package func addToHistory(_ entry: String) -> String? {
            // The result is 0 for such an entry, because of H_SETUNIQUE.
            guard sheaf_history_set_text(history, H_ENTER, entry) > 0 else { return nil }
            return file?.append(entry)
        }

        // MARK: Keys

        /// Discards the line, which stays visible.
        private func interrupt() -> UInt8 {
            isInterrupted = true
            // The line may have further rows after that of the cursor.
            show("^C" + String(repeating: "\n", count: 1 + rowsAfterCursor))
            return UInt8(CC_NEWLINE)
        }

        /// Stops the process as Ctrl-Z does; it continues with a signal.
        private func stop() -> UInt8 {
            show("^Z\n")
            sheaf_edit_set_number(editor, EL_PREP_TERM, 0)
            raise(SIGTSTP)
            return UInt8(CC_NORM)
        }

        /// The number of rows of the line that follow the row of the cursor.
        private var rowsAfterCursor: Int {
            guard let (before, after) = typedTexts() else { return 0 }
            let width = max(1, size.columns)
            let rows = { [promptWidth] (text: String) in
                text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
                    .reduce(-1) { rows, line in
                        let start = line.offset == 0 ? promptWidth : 0
                        return rows + 1 + (start + line.element.unicodeScalars.count) / width
                    }
            }
            return max(0, rows(before + after) - rows(before))
        }

        private func show(_ text: String) {
            fputs(text, output)
            fflush(output)
        }

        /// Reads a character; returns 1, 0 at the end of the input, or -1 to discard the line.
        private func readCharacter(_ character: UnsafeMutablePointer<wchar_t>?) -> Int32 {
            var state = mbstate_t()
            while true {
                switch bytes.next() {
                case .end: return 0
                case .event(let event):
                    if event == .interruption {
                        isInterrupted = true
                        show("^C\n")
                        return -1
                    }
                    handle(event)
                case .byte(let byte):
                    var wide = wchar_t()
                    var piece = CChar(bitPattern: byte)
                    switch mbrtowc(&wide, &piece, 1, &state) {
                    case Int(bitPattern: UInt(bitPattern: -2)): continue
                    case Int(bitPattern: UInt(bitPattern: -1)):
                        // Invalid UTF-8 is shown as U+FFFD, so that the statement is refused.
                        state = mbstate_t()
                        character?.pointee = 0xFFFD
                    default: character?.pointee = wide
                    }
                    return 1
                }
            }
        }

        private func handle(_ event: TerminalSignals.Event) {
            switch event {
            case .resizing:
                el_resize(editor)
                show("\r")
                sheaf_edit_refresh(editor)
            case .continuation:
                // The shell that started the process has changed the settings of the terminal.
                sheaf_edit_set_number(editor, EL_PREP_TERM, 0)
                sheaf_edit_set_number(editor, EL_PREP_TERM, 1)
                show("\r")
                sheaf_edit_refresh(editor)
            case .interruption, .completion: break
            }
        }

        /// Inserts the common prefix of the candidates; lists them if it is already typed.
        private func completeWord() -> UInt8 {
            guard let (text, rest) = typedTexts() else { return UInt8(CC_ERROR) }
            let completion = complete(text, rest)
            guard let first = completion.candidates.first else { return UInt8(CC_ERROR) }
            let isOnly = completion.candidates.count == 1
            let typed = String(text.unicodeScalars.suffix(completion.replacedCount))
            var inserted = completion.commonPrefix
            // A shorter text would delete typed characters.
            if inserted.unicodeScalars.count < completion.replacedCount { inserted = typed }
            if isOnly, first.isComplete { inserted += " " }
            guard inserted == typed else {
                el_deletestr(editor, Int32(completion.replacedCount))
                return el_insertstr(editor, inserted) == 0
                    ? UInt8(CC_REFRESH) : UInt8(CC_ERROR)
            }
            guard !isOnly else { return UInt8(CC_ERROR) }
            list(completion)
            return UInt8(CC_NORM)
        }

        /// Returns the texts before and after the cursor.
        private func typedTexts() -> (before: String, after: String)? {
            guard let line = el_line(editor)?.pointee, let start = line.buffer,
                let cursor = line.cursor, let end = line.lastchar
            else { return nil }
            let before = UnsafeRawBufferPointer(start: start, count: cursor - start)
            let after = UnsafeRawBufferPointer(start: cursor, count: end - cursor)
            return (String(decoding: before, as: UTF8.self), String(decoding: after, as: UTF8.self))
        }

        /// The size of the terminal.
        private var size: (columns: Int, rows: Int) {
            var size = winsize()
            let hasSize = ioctl(fileno(output), UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
            return hasSize ? (Int(size.ws_col), Int(size.ws_row)) : (80, 24)
        }

        private func list(_ completion: LineCompletion) {
            let (columns, rows) = size
            let lines = completion.rows(columns: columns, maximumRows: max(4, rows - 4))
            show("\n" + lines.joined(separator: "\n") + "\n")
            sheaf_edit_refresh(editor)
        }
    }
#endif
