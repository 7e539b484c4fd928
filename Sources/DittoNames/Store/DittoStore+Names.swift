public import Dispatch
public import Foundation
import Sheaf

/// Names of the reference system that older apps use.
extension DittoStore {
    /// Runs a statement as a transaction of its own.
    @discardableResult
    public nonisolated(nonsending) func execute(
        _ query: String, arguments: [String: Any?]? = nil
    ) async throws -> DittoQueryResult {
        try await execute(query: query, arguments: arguments)
    }

    /// Runs a statement, and calls `completion` on `queue` with its result or error.
    public func execute(
        _ query: String, arguments: [String: Any?]? = nil, deliverOn queue: DispatchQueue = .main,
        completion: @escaping (Result<DittoQueryResult, any Error>) -> Void
    ) {
        execute(query: query, arguments: arguments, deliverOn: queue, completion: completion)
    }

    /// Runs a statement, and calls `completion` on `queue` with its result or error.
    public func execute(
        query: String, arguments: [String: Any?]? = nil, deliverOn queue: DispatchQueue = .main,
        completion: @escaping (Result<DittoQueryResult, any Error>) -> Void
    ) {
        // Handlers of the reference system change variables around them, and cannot be `Sendable`. This
        // one is called once, on a queue that the caller has chosen for that.
        nonisolated(unsafe) let completion = completion
        let statement: Statement
        do {
            statement = try Statement(query, arguments)
        } catch {
            return queue.async { completion(.failure(error)) }
        }
        Task {
            let outcome: Result<DittoQueryResult, any Error>
            do {
                outcome = .success(try await run(statement))
            } catch {
                outcome = .failure(error)
            }
            queue.async { completion(outcome) }
        }
    }

    /// The names of all collections that have documents, in their order; keeps the thread meanwhile.
    public func collectionNames() -> [String] {
        complaints.returning([]) {
            try read(DittoCollectionsOperation.statement).collectionNames
        }
    }

    /// All collections, to be read or observed.
    public func collections() -> DittoCollectionsOperation { DittoCollectionsOperation(self) }

    /// Combine is not on all systems.
    @available(
        *, unavailable, message: "use `registerObserver(query:arguments:deliverOn:handler:)`"
    )
    public func observePublisher(query: String, arguments: [String: Any?]? = nil) {}
}

extension DittoQueryResultItem {
    /// The row as JSON in UTF-8.
    public func jsonData() -> Data { Data(jsonString().utf8) }
}

extension DittoLiveQueryEvent {
    /// Whether the documents are the first ones.
    public var isInitial: Bool {
        if case .initial = self { true } else { false }
    }
}

extension DittoReadablePath {
    /// What is there, if it is the token of an attachment.
    public var attachmentToken: DittoAttachmentToken? {
        dictionary.flatMap { try? DittoAttachmentToken($0) }
    }
}
