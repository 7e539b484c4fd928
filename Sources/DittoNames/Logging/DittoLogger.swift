public import Foundation
package import Sheaf
import SheafBytes
import Synchronization

/// How much a message matters; the first one matters most.
public enum DittoLogLevel: Int, CaseIterable, Hashable, Sendable {
    case error = 1, warning, info, debug, verbose
}

/// Where databases that were opened under the names of the reference system write what people should know.
///
/// Messages from `minimumLogLevel` on (`info` by default) go to standard error, and to a callback or a file where one is set.
public enum DittoLogger {
    /// Takes a message, on whatever thread it comes up.
    public typealias Callback = @Sendable (_ level: DittoLogLevel, _ message: String) -> Void

    private struct State: Sendable {
        var isEnabled = true
        var level = DittoLogLevel.info
        var callback: Callback?
        var file: DittoLogFile?
    }

    private static let state = Mutex(State())

    /// Whether anything is written at all.
    public static var isEnabled: Bool {
        get { state.withLock(\.isEnabled) }
        set { state.withLock { $0.isEnabled = newValue } }
    }

    /// Whether anything is written at all; the older name of `isEnabled`.
    public static var enabled: Bool {
        get { isEnabled }
        set { isEnabled = newValue }
    }

    /// Appends messages to a file as well, or to none; where it cannot be opened, an error says so in the log.
    ///
    /// At 16 MiB the file is renamed with the suffix ".1", which replaces the older file of that name.
    public static func setLogFileURL(_ url: URL?) {
        do {
            let file = try url.map { try DittoLogFile($0) }
            state.withLock { $0.file = file }
        } catch {
            state.withLock { $0.file = nil }
            write(
                .error,
                "the log file cannot be opened: \("\(error)".shortened(to: ErrorText.messageLimit))"
            )
        }
    }

    /// Appends messages to the file at a path as well, or to none.
    public static func setLogFile(_ path: String?) {
        setLogFileURL(path.map { URL(fileURLWithPath: $0) })
    }

    /// What matters less is not written.
    public static var minimumLogLevel: DittoLogLevel {
        get { state.withLock(\.level) }
        set { state.withLock { $0.level = newValue } }
    }

    /// Gives messages to `callback` as well as to standard error; it must return soon.
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

    /// What stores write goes here, too.
    static var storeLog: StoreLog {
        StoreLog { level, message, metadata in
            let details = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            write(DittoLogLevel(level), message + details.joined())
        }
    }
}

extension DittoLogLevel {
    /// The level of messages that a store logs at `level`; different ones differ.
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
