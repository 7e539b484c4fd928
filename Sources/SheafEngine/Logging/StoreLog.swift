import SheafStorage
import SheafSystem

/// The destination of a store's log messages.
///
///     let options = StoreOptions(log: .standardError())
///     let options = StoreOptions(log: StoreLog { level, message, metadata in … })
///
/// Nothing is logged by default. Messages contain collections, ids, hints and parameters, but never
/// values of documents or arguments: literals in statements are redacted.
public struct StoreLog: Sendable {
    /// The severity of a message.
    public enum Level: Int, CaseIterable, Comparable, Sendable {
        /// The least severe level, which includes all messages.
        case trace
        /// A detail for diagnosis, such as a transaction that begins to take long.
        case debug
        /// A normal event, such as the opening of a store.
        case info
        /// A problem that no call throws, such as a failed collection of tombstones.
        case warning
        /// A failure, or a transaction that has blocked other writers for long.
        case error

        /// Whether the left level is less severe than the right one.
        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// The details of a message, by keys that do not vary between messages.
    public typealias Metadata = [String: String]

    private let minimumLevel: Level
    private let writer: @Sendable (Level, String, Metadata) -> Void

    /// Creates a log that passes messages of level `least` and above to `writer`.
    ///
    /// `writer` runs on the thread that logs: it must return quickly, and must not use the store.
    public init(
        from least: Level = .trace, _ writer: @escaping @Sendable (Level, String, Metadata) -> Void
    ) {
        self.minimumLevel = least
        self.writer = writer
    }

    /// Returns a log of messages of level `least` and above on standard error, one per line.
    public static func standardError(from least: Level = .info) -> StoreLog {
        StoreLog(from: least) { level, message, metadata in
            let details = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            OperatingSystem.writeToStandardError(
                "sheaf \(level): \(message)\(details.joined())\n")
        }
    }

    /// Whether messages of a level are passed to the writer.
    func accepts(_ level: Level) -> Bool { level >= minimumLevel }

    /// Passes a message to the writer, if its level is high enough.
    package func write(_ level: Level, _ message: String, _ metadata: Metadata = [:]) {
        guard accepts(level) else { return }
        writer(level, message, metadata)
    }
}

extension StoreLog.Level: CustomStringConvertible {
    /// The name of the level in lower case.
    public var description: String {
        switch self {
        case .trace: "trace"
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        }
    }
}
