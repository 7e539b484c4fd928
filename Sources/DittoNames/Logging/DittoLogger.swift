public import Foundation
package import Sheaf
import SheafBytes
import Synchronization

/// The severity of a log message; lower raw values are more severe.
public enum DittoLogLevel: Int, CaseIterable, Hashable, Sendable {
    /// Something failed.
    case error = 1
    /// Something may be wrong.
    case warning
    /// An event of interest to an operator.
    case info
    /// Details for developers.
    case debug
    /// The level `trace` of a store's log.
    case verbose
}

/// The log of databases opened under the names of the reference system.
///
/// Messages at or above `minimumLogLevel` (default `info`) are written to standard error, and also
/// to a callback or file if one is set.
public enum DittoLogger {
    /// A handler of log messages, called on any thread.
    public typealias Callback = @Sendable (_ level: DittoLogLevel, _ message: String) -> Void

    private struct State: Sendable {
        var isEnabled = true
        var level = DittoLogLevel.info
        var callback: Callback?
        var file: DittoLogFile?
    }

    private static let state = Mutex(State())

    /// Whether logging is enabled.
    public static var isEnabled: Bool {
        get { state.withLock(\.isEnabled) }
        set { state.withLock { $0.isEnabled = newValue } }
    }

    /// Whether logging is enabled; the older name of `isEnabled`.
    public static var enabled: Bool {
        get { isEnabled }
        set { isEnabled = newValue }
    }

    /// Sets the log file, or nil for none; a failure to open it is logged as an error.
    ///
    /// At 16 MiB the file is renamed with the suffix ".1", replacing an older file of that name.
    public static func setLogFileURL(_ url: URL?) {
        do {
            let file = try url.map { try DittoLogFile($0) }
            state.withLock { $0.file = file }
        } catch {
            state.withLock { $0.file = nil }
            write(
                .error,
                "cannot open the log file: \("\(error)".shortened(to: ErrorText.messageLimit))"
            )
        }
    }

    /// Sets the log file by its path, or nil for none.
    public static func setLogFile(_ path: String?) {
        setLogFileURL(path.map { URL(fileURLWithPath: $0) })
    }

    /// The least severe level that is logged.
    public static var minimumLogLevel: DittoLogLevel {
        get { state.withLock(\.level) }
        set { state.withLock { $0.level = newValue } }
    }

    /// Passes messages to `callback` as well as to standard error; it must return quickly.
    public static func setCustomLogCallback(_ callback: Callback?) {
        state.withLock { $0.callback = callback }
    }

    static func write(_ level: DittoLogLevel, _ message: String) {
        let state = state.withLock { $0 }
        guard state.isEnabled, level.rawValue <= state.level.rawValue else { return }
        FileHandle.standardError.write(Data("ditto \(level): \(message)\n".utf8))
        let time = Date().formatted(.iso8601)
        state.file?.append("\(time) \(level): \(message)\n")
        state.callback?(level, message)
    }

    /// The log of stores, which writes to this log.
    static var storeLog: StoreLog {
        StoreLog { level, message, metadata in
            let details = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            write(DittoLogLevel(level), message + details.joined())
        }
    }
}

extension DittoLogLevel {
    /// Creates the level for a level of the store's log; distinct levels stay distinct.
    package init(_ level: StoreLog.Level) {
        self =
            switch level {
            case .trace: .verbose
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
    }
}
