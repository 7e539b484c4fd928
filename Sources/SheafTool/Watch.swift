import Sheaf
import SheafBytes
import SheafDocument
import SheafQuery
import SheafStatements
import SheafSystem

/// A query whose result is printed, and then its changes, whichever process writes them.
///
/// `run` occupies the calling thread; the store calls the observer on a thread of its own.
final class Watch {
    /// Results that wait to be printed.
    private struct Mailbox {
        var result: QueryResult?
        /// Requests the next result.
        var signalNext: (@Sendable () -> Void)?
    }

    /// Interval between checks of `isStopped` and for a closed pipe.
    private static let checkMilliseconds: UInt64 = 50

    private let store: Store
    private let path: String
    private let printer: WatchPrinter
    private let output: Output
    private let mailbox = Monitor(Mailbox())
    private let differ = Differ()
    private var last: QueryResult?

    /// The modes that can show changes.
    static let modes: [ResultMode] = [.box, .table, .markdown, .line, .jsonl]

    /// Creates a watch of the store at `path`; throws if the mode is not one of `modes`.
    init(_ store: Store, at path: String, mode: ResultMode, _ output: Output) throws(ToolError) {
        try Self.check(mode)
        (self.store, self.path, self.output) = (store, path, output)
        printer = WatchPrinter(mode: mode, output: output)
    }

    /// Throws if the mode cannot show changes.
    static func check(_ mode: ResultMode) throws(ToolError) {
        guard modes.contains(mode) else {
            throw .usage(
                "the mode \(mode.rawValue) cannot show changes; the modes of watch are "
                    + modes.map(\.rawValue).joined(separator: ", "))
        }
    }

    /// Prints the result of `query` and then its changes.
    ///
    /// It returns after `limit` changes, when the reader of a pipe has closed it, or when
    /// `isStopped`, which is called repeatedly, returns true.
    func run(
        _ query: DQL, _ arguments: QueryArguments, limit: Int = .max, isStopped: () -> Bool
    ) throws(ToolError) {
        let mailbox = mailbox
        let observer = try asTool {
            try store.observe(query, arguments) { result, signalNext in
                mailbox.withLock { $0 = Mailbox(result: result, signalNext: signalNext) }
                mailbox.broadcast()
            }
        }
        defer { observer.cancel() }
        var count = 0
        while !isStopped(), !output.isClosed, !output.isReaderGone {
            guard let (result, signalNext) = next() else { continue }
            let isFirst = last == nil
            count += try print(result, atMost: limit - count)
            if isFirst, result.items.isEmpty { try printNotes(query, arguments) }
            output.flush()
            guard count < limit else { return }
            signalNext()
        }
    }

    /// Returns the next result, or nil if none arrives until the next check.
    private func next() -> (QueryResult, @Sendable () -> Void)? {
        let deadline =
            Clock.system.monotonicNanoseconds() + Self.checkMilliseconds * 1_000_000
        guard mailbox.wait(until: deadline, while: { $0.result == nil }) else { return nil }
        return mailbox.withLock { mailbox in
            guard let result = mailbox.result, let signalNext = mailbox.signalNext else {
                return nil
            }
            mailbox = Mailbox()
            return (result, signalNext)
        }
    }

    /// Prints the first result, or the changes since the last one; returns their number.
    private func print(_ result: QueryResult, atMost limit: Int) throws(ToolError) -> Int {
        let diff = differ.diff(result.items)
        let old = last
        last = result
        return try onStatement(at: path) { () throws(StoreError) in
            guard let old else {
                try printer.print(result)
                return 0
            }
            let changes = try Self.changes(diff, from: old, to: result, atMost: limit)
            if !changes.isEmpty { printer.print(changes, commit: result.commitID ?? 0) }
            return changes.count
        }
    }

    /// Prints notes that may explain why the first result is empty; results of observers have none.
    private func printNotes(_ query: DQL, _ arguments: QueryArguments) throws(ToolError) {
        let store = store
        let result = try waitFor { try await store.execute(query, arguments) }
        for note in result.notes { output.print(note: TerminalText.visible(note)) }
    }

    /// Returns the changes of rows: first the removed ones, then the others in the order of rows.
    private static func changes(
        _ diff: Diff, from old: QueryResult, to new: QueryResult, atMost limit: Int
    ) throws(StoreError) -> [RowChange] {
        var changes: [RowChange] = []
        for index in diff.deletions.prefix(limit) {
            changes.append(.removed(try old.storage.object(index)))
        }
        // Applied without its updates, the diff yields the old index of each new row.
        let kept = Diff(insertions: diff.insertions, deletions: diff.deletions, moves: diff.moves)
        var sources: [Int?] = Array(0..<old.items.count)
        sources.apply(kept) { _ in nil }
        for index in (diff.insertions + diff.updates).sorted().prefix(limit - changes.count) {
            let row = try new.storage.object(index)
            guard let source = sources[index] else {
                changes.append(.inserted(row))
                continue
            }
            changes.append(.changed(row, previous: try old.storage.object(source)))
        }
        return changes
    }
}

/// A change of a row of a watched result.
enum RowChange: Equatable {
    case inserted(Object)
    case removed(Object)
    case changed(Object, previous: Object)
}
