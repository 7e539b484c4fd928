import SheafCompletion
import SheafLineEditor
import SheafReference
import SheafStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The completion of dot commands and their arguments.
extension ShellCompletion {
    /// Maximum number of entries of a directory that are offered.
    private static let maximumFiles = 1_000

    /// Returns the candidates for insertion in a line that begins with a dot.
    func command(_ before: String, _ after: String, in store: Store?) -> LineCompletion {
        let line = String(before.drop { $0 == " " })
        guard let end = line.firstIndex(of: " ") else {
            return matching(line, ShellCommand.names.map { .init($0) })
        }
        guard let command = ShellCommand.named(String(line[..<end])) else { return .none }
        let rest = String(line[end...].drop { $0 == " " })
        let words = rest.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        let word = words.last ?? ""
        if let completion = option(word, after: words.dropLast().last, of: command) {
            return completion
        }
        switch command.completion {
        case .none: return .none
        case .words(let words): return matching(rest, words.map { .init($0) })
        case .collection:
            return matching(word, StatementCompletion.collections(of: store).map { .init($0) })
        case .file: return Self.files(word)
        case .statement: return statement(rest, after, pending: "", in: store)
        case .command:
            let names = Reference.entries.map(\.name).filter { !$0.isEmpty }
            return matching(rest, (ShellCommand.names + names).map { .init($0) })
        }
    }

    /// Returns the options of a command, or the values of the option that precedes the word.
    ///
    /// Returns nil for a word that is neither.
    private func option(
        _ word: String, after previous: String?, of command: ShellCommand
    ) -> LineCompletion? {
        if let option = command.options.first(where: { "--" + $0.name == previous }),
            option.value != nil
        {
            return values(of: option, word, precededBy: "")
        }
        guard word.hasPrefix("-"), !command.options.isEmpty else { return nil }
        if let option = command.options.first(where: { word.hasPrefix("--\($0.name)=") }) {
            return values(of: option, word, precededBy: "--\(option.name)=")
        }
        return matching(word, command.options.map { .init("--" + $0.name) })
    }

    /// Returns the values of an option; `prefix` is the part of the word before the value.
    private func values(
        of option: Option, _ word: String, precededBy prefix: String
    ) -> LineCompletion {
        switch Completion(option) {
        case .words(let words): matching(word, words.map { .init(prefix + $0) })
        case .file, .directory: Self.files(String(word.dropFirst(prefix.count)))
        case .nothing: .none
        }
    }

    /// Returns the entries of a directory that begin with the last part of a path.
    private static func files(_ path: String) -> LineCompletion {
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { String(path[...$0]) } ?? ""
        let prefix = slash.map { String(path[path.index(after: $0)...]) } ?? path
        guard let stream = opendir(expanded(directory.isEmpty ? "." : directory)) else {
            return .none
        }
        defer { closedir(stream) }
        var candidates: [LineCompletion.Candidate] = []
        while candidates.count < maximumFiles, let entry = readdir(stream) {
            let name = withUnsafePointer(to: entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != "..", name.hasPrefix(prefix),
                prefix.hasPrefix(".") || !name.hasPrefix(".")
            else { continue }
            var status = stat()
            let isDirectory =
                stat(expanded(directory) + name, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            let text = directory + name + (isDirectory ? "/" : "")
            candidates.append(
                .init(text, label: name + (isDirectory ? "/" : ""), isComplete: !isDirectory))
        }
        candidates.sort { $0.text < $1.text }
        return LineCompletion(replacing: path.unicodeScalars.count, candidates)
    }

    /// Returns the path with the home directory in place of `~`.
    private static func expanded(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home = getenv("HOME") else { return path }
        return String(cString: home) + path.dropFirst()
    }
}
