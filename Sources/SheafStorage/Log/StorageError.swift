import SheafBytes

/// An error of a store on disk.
package enum StorageError: Error, Equatable, Sendable {
    /// A system call on a file failed.
    case io(VolumeError)
    /// The disk is full, or a quota or a file size limit is reached.
    case full(VolumeError)
    /// Bytes that were durable differ from what was written.
    case corrupt(Damage)
    /// The file may be valid, but a newer program wrote it.
    case unsupported(Damage)
    /// The store is already open in this or another process.
    case locked(path: String, holder: Int32?)
    /// There is no store at this path, and creating one was not requested.
    case notAStore(path: String)
    /// The directory of an opened store does not have it any more, for a reason.
    case removed(String)
    /// The path leads to a file, whereas a store is a directory.
    case notADirectory(path: String)
    /// A new store was requested at a path that already contains files.
    case notEmpty(path: String)
    /// The store was opened for reading only.
    case readOnly
    /// An earlier write or sync failed, which leaves the contents of the disk uncertain.
    case poisoned(cause: String)
    /// A value exceeds a limit of the store.
    case limit(name: String, value: Int, limit: Int)
    /// The store has used the last commit ID.
    case commitsExhausted
    /// The key cannot be stored.
    case invalidKey(String)
    /// A delta was written for a key without a payload.
    case noRecordForDelta(key: [UInt8])
    /// The key has deltas, which must be read with `operations(of:)`.
    case deltaFollows(at: LogPosition)
    /// The store is closed.
    case closed
    /// A callback that `close` would wait for tried to close the store.
    case closedByItself

    /// A backup cannot be made as requested, for this reason.
    case refused(String)
    /// The caller ended the operation.
    case cancelled

    /// The location of damaged bytes and the reason why they are invalid.
    package struct Damage: Equatable, Sendable {
        package let file: String
        package let offset: Int
        package let reason: String

        package init(file: String, offset: Int, reason: String) {
            self.file = file
            self.offset = offset
            self.reason = reason
        }
    }

    /// Creates an error for a failed system call; a full disk has its own case.
    init(_ error: VolumeError) {
        self = error.code.meansFull ? .full(error) : .io(error)
    }

    /// Creates an error for invalid bytes in `file`.
    init(_ error: FormatError, file: String) {
        let damage = Damage(file: file, offset: error.offset, reason: error.reason)
        self = error.isUnsupported ? .unsupported(damage) : .corrupt(damage)
    }

    /// Whether the error concerns the process rather than the store.
    var isAboutProcess: Bool {
        guard case .io(let error) = self else { return false }
        return error.code.isAboutProcess
    }

    /// Creates an error for damage that no decoder reports.
    static func damaged(_ file: String, at offset: Int, _ reason: String) -> StorageError {
        .corrupt(Damage(file: file, offset: offset, reason: reason))
    }
}

extension StorageError.Damage: CustomStringConvertible {
    package var description: String {
        "\(file.shortened(to: ErrorText.limit)):\(offset): \(reason)"
    }
}

extension StorageError {
    /// Whether the disk was full, or a quota or a file size limit was reached.
    package var isFull: Bool {
        if case .full = self { true } else { false }
    }
}

extension StorageError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .io(let error):
            return error.description
        case .full(let error):
            return "the disk is full: \(error); make room, then open the store again"
        case .corrupt(let damage):
            return "the store is damaged: \(damage)"
        case .unsupported(let damage):
            return "the store needs a newer program: \(damage)"
        case .locked(let path, let holder):
            let owner = holder.map { "process \($0)" } ?? "another process"
            return
                "\(path.shortened(to: ErrorText.limit)) is in use by \(owner); close it there first"
        case .notAStore(let path):
            return "there is no store at \(path.shortened(to: ErrorText.limit))"
        case .notADirectory(let path):
            return
                "\(path.shortened(to: ErrorText.limit)) is a file, and a store is a directory; "
                + "a file with rows can be imported into a store"
        case .notEmpty(let path):
            return "\(path.shortened(to: ErrorText.limit)) has files in it; name a directory "
                + "that is empty or does not exist"
        case .readOnly:
            return "the store was opened for reading only; open it for writing to change it"
        case .poisoned(let cause):
            return "the store accepts no more writes until it is opened again, since: \(cause)"
        case .limit(let name, let value, let limit):
            return "\(value) is more than \(name) allows, which is \(limit)"
        case .commitsExhausted:
            return "the store has used all commit IDs; copy its documents into a new store"
        case .invalidKey(let reason):
            return "the key is not valid: \(reason)"
        case .noRecordForDelta(let key):
            let text = String(decoding: key, as: UTF8.self).shortened.debugDescription
            return "the key \(text) has no payload for a delta; put one first"
        case .deltaFollows(let position):
            return "the operation at \(position) is a delta; read it together with the "
                + "operations it is based on"
        case .closed:
            return "the store was closed"
        case .closedByItself:
            return "a callback of the store cannot close it, because closing waits for callbacks "
                + "to return; close it from another thread"
        case .refused(let reason), .removed(let reason):
            return reason
        case .cancelled:
            return "the operation was canceled"
        }
    }
}

/// Calls `body` and converts volume errors to storage errors.
@inline(__always)
func translatingErrors<Value>(
    _ body: () throws(VolumeError) -> Value
) throws(StorageError) -> Value {
    do throws(VolumeError) {
        return try body()
    } catch {
        throw StorageError(error)
    }
}
