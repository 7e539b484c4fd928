public import Dispatch
import Foundation
import Synchronization

/// The disk usage of a database.
public final class DittoDiskUsage: Sendable {
    /// Interval between two measurements of an observed directory.
    package static let interval = DispatchTimeInterval.milliseconds(500)

    /// The directory of the database; nil if it is in memory or was opened elsewhere.
    private let directory: URL?

    init(_ directory: URL?) {
        self.directory = directory
    }

    /// The disk usage, measured on access; empty for a database in memory.
    public var exec: DittoDiskUsageItem {
        guard let directory else {
            return DittoDiskUsageItem(type: .directory, path: "", sizeInBytes: 0, childItems: [])
        }
        return DittoDiskUsageItem(measuring: directory, path: directory.lastPathComponent)
    }

    /// The disk usage; the name of `exec` in newer versions of the reference system.
    public var item: DittoDiskUsageItem { exec }

    /// Calls `eventHandler` immediately and after changes of the directory, at most twice a second.
    ///
    /// The observation ends when the handle is stopped or deallocated.
    public func observe(
        deliverOn queue: DispatchQueue = .main,
        eventHandler: @escaping (_ item: DittoDiskUsageItem) -> Void
    ) -> DittoDiskUsageObserverHandle {
        DittoDiskUsageObserverHandle(self, queue, eventHandler)
    }
}

/// A file or directory and its size.
public struct DittoDiskUsageItem: Hashable, Sendable {
    /// The kind of a file system entry.
    public enum FileSystemType: Hashable, Sendable {
        /// A directory.
        case directory
        /// A regular file.
        case file
        /// A symbolic link.
        case symLink
    }

    /// The kind of the entry.
    public let type: FileSystemType
    /// The path, relative to the parent of the database's directory.
    public let path: String
    /// The length of a file, or the sum over all files in a directory.
    public let sizeInBytes: Int
    /// The entries of a directory, sorted by name; nil for a file.
    public let childItems: [DittoDiskUsageItem]?

    /// The older name of `childItems`.
    public var children: [DittoDiskUsageItem] { childItems ?? [] }
    /// The older name of `sizeInBytes`.
    public var size: Int { sizeInBytes }

    init(type: FileSystemType, path: String, sizeInBytes: Int, childItems: [DittoDiskUsageItem]?) {
        self.type = type
        self.path = path
        self.sizeInBytes = sizeInBytes
        self.childItems = childItems
    }

    /// Measures the entry at `url`; entries deleted meanwhile have the size 0.
    init(measuring url: URL, path: String) {
        let attributes = try? FileManager.default.attributesOfItem(atPath: url.path)
        switch attributes?[.type] as? FileAttributeType {
        case .typeDirectory?:
            let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
            let items = names.sorted().map { name in
                DittoDiskUsageItem(
                    measuring: url.appendingPathComponent(name), path: "\(path)/\(name)")
            }
            self.init(
                type: .directory, path: path, sizeInBytes: items.reduce(0) { $0 + $1.sizeInBytes },
                childItems: items)
        case .typeSymbolicLink?:
            self.init(type: .symLink, path: path, sizeInBytes: 0, childItems: nil)
        default:
            let length = (attributes?[.size] as? NSNumber)?.intValue ?? 0
            self.init(type: .file, path: path, sizeInBytes: length, childItems: nil)
        }
    }
}

/// A handle that keeps an observation of disk usage alive.
public final class DittoDiskUsageObserverHandle: Sendable {
    private struct State: Sendable {
        var last: DittoDiskUsageItem?
        var isStopped = false
    }

    // Dispatch sources may be canceled from any thread.
    nonisolated(unsafe) private let timer: any DispatchSourceTimer
    private let state = Mutex(State())

    init(
        _ usage: DittoDiskUsage, _ queue: DispatchQueue,
        _ handler: @escaping (DittoDiskUsageItem) -> Void
    ) {
        // The handler is called by one thread at a time, on the queue chosen by the caller.
        nonisolated(unsafe) let handler = handler
        timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now(), repeating: DittoDiskUsage.interval)
        timer.setEventHandler { [weak self] in
            guard let self else { return }
            let item = usage.exec
            let isNew = state.withLock { state in
                guard !state.isStopped, state.last != item else { return false }
                state.last = item
                return true
            }
            if isNew { handler(item) }
        }
        timer.resume()
    }

    deinit {
        stop()
    }

    /// Stops the observation; no call starts after this returns.
    public func stop() {
        state.withLock { $0.isStopped = true }
        timer.cancel()
    }
}
