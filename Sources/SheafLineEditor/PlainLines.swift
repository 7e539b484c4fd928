#if !LineEditing
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// A reader of lines at a terminal, without editing, history or completion.
    package final class LineEditor {
        /// Whether lines can be edited; without libedit they are read as the terminal sends them.
        package static let canEdit = false

        private let bytes: TypedBytes
        /// Returns the candidates for insertion between two texts; unused.
        package var complete: (_ before: String, _ after: String) -> LineCompletion = { _, _ in
            .none
        }
        /// The message of an error that prevented loading the history; there is no history.
        package var historyError: String? { nil }

        /// Creates a reader of the terminal.
        package init?(_ signals: TerminalSignals, historyPath: String?) {
            bytes = TypedBytes(signals: signals)
        }

        /// Shows a prompt and reads a line.
        package func read(prompt: String) -> LineInput {
            show(prompt)
            var line: [UInt8] = []
            while true {
                switch bytes.next() {
                case .end:
                    return line.isEmpty ? .end : .text(String(decoding: line, as: UTF8.self))
                case .event(.interruption):
                    show("\n")
                    return .interruption
                case .event: continue
                case .byte(0x0A): return .text(String(decoding: line, as: UTF8.self))
                case .byte(let byte): line.append(byte)
                }
            }
        }

        private func show(_ text: String) {
            _ = write(STDERR_FILENO, text, text.utf8.count)
        }

        /// Does nothing: there is no history.
        package func addToHistory(_ entry: String) -> String? { nil }
    }
#endif
