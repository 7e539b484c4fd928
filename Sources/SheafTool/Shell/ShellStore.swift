import Sheaf
import SheafBytes
import SheafDocument
import SheafQuery
import SheafStatements
import SheafStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The store of a shell.
///
/// A store at a path is open for reading, without a lock, until the first statement that writes.
/// From then on it is open for writing, until it is released.
final class ShellStore {
    private enum State {
        case closed
        case memory(Store)
        case reading(Store)
        case writing(Store)
    }

    /// The directory; nil for a store in memory.
    let path: String?
    let isReadOnly: Bool
    /// Whether a note reports that the store was opened for writing.
    private let announces: Bool
    var output: Output
    private var state = State.closed
    /// Statements that set system parameters, which are repeated when the store is opened again.
    private var settings: [(text: String, arguments: QueryArguments)] = []

    /// Creates a store at a path, which is opened when a statement needs it.
    init(path: String, isReadOnly: Bool, announces: Bool, _ output: Output) {
        self.path = path
        self.isReadOnly = isReadOnly
        self.announces = announces
        self.output = output
    }

    /// Creates a store in memory.
    init(memory store: Store, _ output: Output) {
        path = nil
        isReadOnly = false
        announces = false
        self.output = output
        state = .memory(store)
    }

    /// Whether the path exists and is not an empty directory; true in memory.
    var exists: Bool {
        guard let path else { return true }
        guard access(path, F_OK) == 0 else { return false }
        guard let stream = opendir(path) else { return true }
        defer { closedir(stream) }
        // Each directory has the entries `.` and `..`.
        var count = 0
        while count < 3, readdir(stream) != nil { count += 1 }
        return count > 2
    }

    /// Whether the shell has the store open for writing.
    var isWriting: Bool {
        if case .writing = state { true } else { false }
    }

    /// The name of the store in messages.
    var name: String { path ?? "the scratch store" }

    /// Returns the store at its newest durable commit.
    func reading() throws(ToolError) -> Store {
        switch state {
        case .memory(let store), .writing(let store): return store
        case .reading(let store):
            _ = try onStatement { () throws(StoreError) in try store.refreshNow() }
            return store
        case .closed: return try openForReading()
        }
    }

    /// The store at the commit of the last statement; nil if it is not open.
    var current: Store? {
        switch state {
        case .memory(let store), .reading(let store), .writing(let store): store
        case .closed: nil
        }
    }

    private func requiredPath() throws(ToolError) -> String {
        guard let path else { throw .failed("the scratch store is closed") }
        return path
    }

    private func openForReading() throws(ToolError) -> Store {
        let path = try requiredPath()
        guard exists else {
            throw .failed(
                "there is no store at \(path.shortened(to: ErrorText.limit)) yet"
                    + (isReadOnly ? "" : "; the first statement that writes creates it"))
        }
        try checkIsNoFile(path)
        let store = try waitFor {
            try await Store.open(at: path, options: StoreOptions(isReadOnly: true))
        }
        try restoreSettings(of: store)
        state = .reading(store)
        return store
    }

    /// Returns the store, open for writing.
    func writing() throws(ToolError) -> Store {
        switch state {
        case .memory(let store), .writing(let store): return store
        case .closed, .reading: return try openForWriting()
        }
    }

    private func openForWriting() throws(ToolError) -> Store {
        let path = try requiredPath()
        guard !isReadOnly else {
            throw .failed("the shell only reads, because it was started with --readonly")
        }
        let isNew = !exists
        let opened = try waitFor { () -> Result<Store, StoreError> in
            do { return .success(try await Store.open(at: path)) } catch let error as StoreError {
                return .failure(error)
            }
        }
        let store: Store
        switch opened {
        case .success(let opened): store = opened
        case .failure(let error):
            guard error.reason == .inUse else { throw ToolError(error) }
            throw .failed(
                error.terminalText
                    + "\nreading works meanwhile; to write, close the store there first")
        }
        closeReader()
        state = .writing(store)
        try restoreSettings(of: store)
        guard announces else { return store }
        let shown = path.shortened(to: ErrorText.limit)
        output.print(
            note: TerminalText.visible(
                isNew
                    ? "created the store \(shown), which is open for writing until .release"
                    : "\(shown) is open for writing until .release; other processes can read it"))
        return store
    }

    private func closeReader() {
        guard case .reading(let store) = state else { return }
        state = .closed
        // A reader has nothing to write, so an error of closing it has no effect.
        _ = try? waitFor { try await store.close() }
    }

    /// Closes the store if it is open for writing; returns whether it was.
    @discardableResult
    func release() throws(ToolError) -> Bool {
        guard case .writing(let store) = state else { return false }
        state = .closed
        try waitFor { try await store.close() }
        return true
    }

    /// Closes the store.
    func close() throws(ToolError) {
        closeReader()
        if case .memory(let store) = state {
            state = .closed
            try waitFor { try await store.close() }
        }
        try release()
    }

    /// Records a statement that set a system parameter of the store.
    func record(setting text: String, _ arguments: QueryArguments) {
        guard path != nil else { return }
        settings.append((text, arguments))
    }

    private func restoreSettings(of store: Store) throws(ToolError) {
        for (text, arguments) in settings {
            try waitFor { _ = try await store.execute(DQL(verbatim: text), arguments) }
        }
    }

    private func onStatement<Result>(
        _ body: () throws(StoreError) -> Result
    ) throws(ToolError) -> Result {
        do throws(StoreError) { return try body() } catch { throw .statement(error, at: name) }
    }
}
