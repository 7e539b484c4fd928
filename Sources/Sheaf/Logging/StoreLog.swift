import SheafStorage

/// Where a store writes what it has to tell people.
///
///     let options = StoreOptions(log: .standardError())
///     let options = StoreOptions(log: StoreLog { level, message, metadata in … })
///
/// Nothing is written by default. Messages name collections, ids, hints and parameters, and never the
/// values of documents or arguments: statements have a mark in the place of each literal.
public struct StoreLog: Sendable {
    /// How much a message matters.
    public enum Level: Int, CaseIterable, Comparable, Sendable {
        case trace, debug, info, warning, error

        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// What a message is about, by names that do not change from message to message.
    public typealias Metadata = [String: String]

    private let least: Level
    private let writer: @Sendable (Level, String, Metadata) -> Void

    /// Gives messages that matter so much to `writer`, on whatever thread they come up; it must return
    /// soon, and must not use the store.
    public init(
        from least: Level = .trace, _ writer: @escaping @Sendable (Level, String, Metadata) -> Void
    ) {
        self.least = least
        self.writer = writer
    }

    /// Writes messages that matter so much to standard error, a line each.
    public static func standardError(from least: Level = .info) -> StoreLog {
        StoreLog(from: least) { level, message, metadata in
            let details = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            OperatingSystem.writeToStandardError(
                "sheaf \(level): \(message)\(details.joined())\n")
        }
    }

    /// Whether messages that matter so much go anywhere.
    func takes(_ level: Level) -> Bool { level >= least }

    func write(_ level: Level, _ message: String, _ metadata: Metadata = [:]) {
        guard takes(level) else { return }
        writer(level, message, metadata)
    }
}

extension StoreLog.Level: CustomStringConvertible {
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
