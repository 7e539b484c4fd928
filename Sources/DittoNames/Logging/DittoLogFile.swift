package import Foundation
import Synchronization

/// A log file with rotation: a full file replaces the older one, and a new file is started.
package final class DittoLogFile: Sendable {
    /// Maximum length of each of the two files.
    package static let maximumLength = 16 << 20

    private struct State {
        var handle: FileHandle?
        var length: UInt64
    }

    private let url: URL
    private let maximumLength: UInt64
    private let state: Mutex<State>

    /// Opens the file at `url` for appending, or creates it.
    package init(_ url: URL, maximumLength: Int = DittoLogFile.maximumLength) throws {
        self.url = url
        self.maximumLength = UInt64(maximumLength)
        let (handle, length) = try Self.open(url)
        state = Mutex(State(handle: handle, length: length))
    }

    private static func open(_ url: URL) throws -> (FileHandle, UInt64) {
        let directory = url.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        if !FileManager.default.fileExists(atPath: url.path) {
            guard
                FileManager.default.createFile(
                    atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
            else { throw CocoaError(.fileWriteUnknown) }
        }
        let handle = try FileHandle(forWritingTo: url)
        return (handle, try handle.seekToEnd())
    }

    /// Appends a line; after a failed write, lines are discarded until a rotation succeeds.
    package func append(_ line: String) {
        let bytes = Data(line.utf8)
        state.withLock { state in
            do {
                if state.length > 0, state.length + UInt64(bytes.count) > maximumLength {
                    try rotate(&state)
                }
                try state.handle?.write(contentsOf: bytes)
                state.length += UInt64(bytes.count)
            } catch {
                // The error cannot be logged, since this is the log.
                state.handle = nil
            }
        }
    }

    private func rotate(_ state: inout State) throws {
        try state.handle?.close()
        let older = url.appendingPathExtension("1")
        if FileManager.default.fileExists(atPath: older.path) {
            try FileManager.default.removeItem(at: older)
        }
        try FileManager.default.moveItem(at: url, to: older)
        let (handle, length) = try Self.open(url)
        (state.handle, state.length) = (handle, length)
    }
}
