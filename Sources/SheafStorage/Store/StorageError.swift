import SheafBytes

/// What can go wrong with a store on a disk.
package enum StorageError: Error, Equatable, Sendable {
    /// The system refused a call on a file.
    case io(VolumeError)
    /// The disk has no room.
    case full(VolumeError)
    /// Bytes that had reached the disk are not what was written.
    case corrupt(Damage)
    /// The file may be right, but was written by a newer program.
    case unsupported(Damage)
    /// Another process, or another opening in this one, has the store.
    case locked(path: String, holder: Int32?)
    /// There is no store at this path, and none was to be made.
    case notAStore(path: String)
    /// There is something at this path, where a new store was to be made.
    case notEmpty(path: String)
    /// The store was opened for reading only.
    case readOnly
    /// An earlier write or sync failed, so that nobody knows what the disk kept.
    case poisoned(cause: String)
    /// Something is larger than the store allows.
    case limit(name: String, value: Int, limit: Int)
    /// The key cannot be stored.
    case invalidKey(String)
    /// The key has no payload, and was to be extended.
    case nothingToExtend(key: [UInt8])
    /// The key was extended: what it stands on is read with `operations(of:)`.
    case extended(at: LogPosition)
    /// The store was closed.
    case closed
    /// The store was asked to close by a callback that it waits for.
    case closedByItself

    /// Where bytes are damaged, and what gives them away.
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

    /// The error for a refused call: a full disk has a case of its own.
    init(_ error: VolumeError) {
        self = error.code.meansFull ? .full(error) : .io(error)
    }

    /// The error for wrong bytes in `file`.
    init(_ error: FormatError, file: String) {
        let damage = Damage(file: file, offset: error.offset, reason: error.reason)
        self = error.isUnsupported ? .unsupported(damage) : .corrupt(damage)
    }

    /// Whether the system refuses this process, and says nothing about the store.
    var isAboutProcess: Bool {
        guard case .io(let error) = self else { return false }
        return error.code.isAboutProcess
    }

    /// The error for damage that no decoder reports by itself.
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
    /// Whether there was no room on the disk.
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
            let who = holder.map { "process \($0)" } ?? "another process"
            return
                "\(path.shortened(to: ErrorText.limit)) is in use by \(who); close it there first"
        case .notAStore(let path):
            return "there is no store at \(path.shortened(to: ErrorText.limit))"
        case .notEmpty(let path):
            return "\(path.shortened(to: ErrorText.limit)) has files in it; name a directory "
                + "that is empty or does not exist"
        case .readOnly:
            return "the store was opened for reading only; open it for writing to change it"
        case .poisoned(let cause):
            return "the store accepts no more writes until it is opened again, since: \(cause)"
        case .limit(let name, let value, let limit):
            return "\(value) is more than \(name) allows, which is \(limit)"
        case .invalidKey(let reason):
            return "the key is not valid: \(reason)"
        case .nothingToExtend(let key):
            let text = String(decoding: key, as: UTF8.self).shortened.debugDescription
            return "the key \(text) has no payload that could be extended; put one first"
        case .extended(let position):
            return "the operation at \(position) extends others, and is read together with them"
        case .closed:
            return "the store was closed"
        case .closedByItself:
            return "a callback of the store cannot close it, for closing waits until callbacks "
                + "have returned; close it from another thread"
        }
    }
}

/// Runs calls on a volume and lets their refusals out as storage errors.
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
