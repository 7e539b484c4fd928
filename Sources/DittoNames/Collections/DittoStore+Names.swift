public import Dispatch
public import Foundation
import Sheaf

/// Names used by apps for older versions of the reference system.
extension DittoStore {
    /// Runs a statement in its own transaction.
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
        // Completion handlers of the reference system are not `Sendable`. This one is called once,
        // on the queue chosen by the caller.
        nonisolated(unsafe) let completion = completion
        let statement: DittoStatement
        do {
            statement = try DittoStatement(query, arguments)
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

    /// Returns the sorted names of all collections that have documents; blocks the thread.
    public func collectionNames() -> [String] {
        errorHandler.returning([]) {
            try read(DittoCollectionsOperation.statement).collectionNames
        }
    }

    /// Returns an operation that reads or observes all collections.
    public func collections() -> DittoCollectionsOperation { DittoCollectionsOperation(self) }

    /// Unavailable: Combine does not exist on all systems.
    @available(
        *, unavailable, message: "use `registerObserver(query:arguments:deliverOn:handler:)`"
    )
    public func observePublisher(query: String, arguments: [String: Any?]? = nil) {}
}

extension DittoQueryResultItem {
    /// Returns the row as JSON in UTF-8.
    public func jsonData() -> Data { Data(jsonString().utf8) }
}

extension DittoLiveQueryEvent {
    /// Whether this is the first event.
    public var isInitial: Bool {
        if case .initial = self { true } else { false }
    }
}

extension DittoReadablePath {
    /// The attachment token at this path, if there is one.
    public var attachmentToken: DittoAttachmentToken? {
        dictionary.flatMap { try? DittoAttachmentToken($0) }
    }
}
