import SheafDocument
import SheafQuery
import SheafStatements
import SheafStore
import SheafSystem
import Synchronization

/// The answer of `POST /query`: the rows of a statement.
package struct StatementAnswer {
    /// Maximum number of rows without a limit in the request, and the greatest limit.
    package static let usualLimit = 1_000
    package static let greatestLimit = 10_000

    private let statement: DQL
    private let arguments: QueryArguments
    private let limit: Int

    /// Reads the body of a request.
    init(_ body: [UInt8]) throws(ErrorAnswer) {
        let fields = try RequestFields(body, names: ["statement", "arguments", "limit"])
        statement = DQL(verbatim: try fields.text("statement"))
        var values: [String: Value] = [:]
        for field in try fields.object("arguments") { values[field.name] = field.value }
        arguments = QueryArguments(values)
        limit = try fields.integer("limit", 0...Self.greatestLimit, Self.usualLimit)
    }

    /// Whether a statement waits or runs, for the task that limits its time.
    private final class Progress: Sendable {
        let hasBegun = Atomic(false)
    }

    /// Runs the statement once the gate lets it in; returns JSON.
    ///
    /// It is canceled after some seconds, also while it waits.
    nonisolated(nonsending) func run(
        on subject: InspectedStore, through gate: StatementGate, seconds: Int
    ) async throws -> [UInt8] {
        try check(isWritable: subject.isWritable, subject.store)
        let (progress, limit) = (Progress(), Duration.seconds(seconds))
        return try await withThrowingTaskGroup(of: [UInt8].self) { group in
            group.addTask {
                try await gate.run {
                    progress.hasBegun.store(true, ordering: .relaxed)
                    try subject.refresh()
                    return try await rows(subject.store)
                }
            }
            // Not on the threads of the requests, which statements may occupy.
            group.addTask(executorPreference: globalConcurrentExecutor) {
                try await Self.expire(after: limit)
                throw progress.hasBegun.load(ordering: .relaxed)
                    ? ErrorAnswer(
                        400,
                        "the statement exceeded the time limit of the inspector of \(seconds) s",
                        hint: "PROFILE shows which operator is slow, and ADVISE suggests indexes")
                    : ErrorAnswer(
                        503, "other statements occupied the inspector for \(seconds) s",
                        hint: "at most \(gate.maximumCount) run at once; try again")
            }
            defer { group.cancelAll() }
            return try await group.next() ?? []
        }
    }

    private static func expire(after limit: Duration) async throws {
        try await Task.sleep(for: limit)
    }

    /// Throws if the statement would change something, and the inspector only reads.
    private func check(isWritable: Bool, _ store: Store) throws(ErrorAnswer) {
        do throws(StoreError) {
            switch try store.queries.statement(statement).kind {
            case .reading, .advising, .showing: return
            case .writing, .createIndex, .dropIndex, .provisioning, .configuring: break
            }
        } catch {
            throw ErrorAnswer(error)
        }
        guard !isWritable else { return }
        throw ErrorAnswer(
            403, "the inspector was started for reading only",
            hint: "'sheaf inspect --write', or isWritable in the options, permits statements that "
                + "write")
    }

    private nonisolated(nonsending) func rows(_ store: Store) async throws -> [UInt8] {
        let start = Clock.system.monotonicNanoseconds()
        // A further row shows whether there are more.
        let result = try await store.execute(statement, arguments, upTo: limit + 1)
        let nanoseconds = Clock.system.monotonicNanoseconds() - start
        var rows = AnswerRows()
        var isTruncated = result.items.count > limit
        for item in result.items.prefix(limit) {
            try Task.checkCancellation()
            guard rows.append(JSONBytes.of(JSONBytes.visible(try item.value))) else {
                isTruncated = true
                break
            }
        }
        let rest = JSONBytes.of([
            "columns": result.columns.map { .array($0.map(Value.string)) } ?? .null,
            "isTruncated": .bool(isTruncated),
            "commit": result.commitID.map(Value.integer) ?? .null,
            "changedIDs": JSONBytes.visible(
                .array(Array(result.mutatedDocumentIDs.prefix(Self.greatestLimit)))),
            "milliseconds": .float(AnswerRows.milliseconds(nanoseconds)),
            "notes": .array(result.notes.map(Value.string)),
        ])
        return Array("{\"rows\":".utf8) + rows.bytes + Array("],".utf8) + rest.dropFirst()
    }
}
