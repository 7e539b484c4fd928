package import SheafStorage

/// A failure of one call, or of all calls from one on.
package struct SimulatedFault: Sendable {
    /// The effect of the fault on the call.
    package enum Effect: Sendable {
        /// Throws; a write may be partial, and a failed sync loses pending pages.
        case error(VolumeError.Code)
        /// Reads or writes fewer bytes than requested, but at least one.
        case short
        /// Reads with one bit flipped.
        case flipped
    }

    let effect: Effect
    let isSticky: Bool
    private let operation: VolumeError.Operation?
    private let suffix: String?
    private var callsBefore: Int

    /// Creates a fault at the `call`th matching call, counted from one.
    ///
    /// Only calls of kind `operation` on files with this suffix match; a sticky fault hits all
    /// later ones.
    package init(
        _ effect: Effect, atCall call: Int = 1, of operation: VolumeError.Operation? = nil,
        onFilesEndingIn suffix: String? = nil, forEver isSticky: Bool = false
    ) {
        precondition(call >= 1, "Calls are counted from one.")
        self.effect = effect
        self.operation = operation
        self.suffix = suffix
        self.isSticky = isSticky
        callsBefore = call - 1
    }

    /// Counts a call and returns whether the fault hits it.
    mutating func hits(_ operation: VolumeError.Operation, _ name: String) -> Bool {
        guard self.operation == nil || self.operation == operation else { return false }
        if case .short = effect, operation != .read, operation != .write { return false }
        if case .flipped = effect, operation != .read { return false }
        if let suffix, !name.utf8.reversed().starts(with: suffix.utf8.reversed()) { return false }
        guard callsBefore == 0 else {
            callsBefore -= 1
            return false
        }
        return true
    }
}

/// The numbers of calls on a simulated volume.
package struct SimulatedCounters: Sendable {
    private var calls: [Int] = []
    /// The number of all calls except `close`.
    package private(set) var total = 0
    /// The number of calls that change the disk, as counted by `crashAtCall`.
    package private(set) var mutating = 0
    package internal(set) var bytesWritten = 0
    /// The number of calls that had an effect; while it is constant, the disk is unchanged.
    package internal(set) var changes = 0

    /// Returns the number of calls of one kind.
    package subscript(operation: VolumeError.Operation) -> Int {
        calls.isEmpty ? 0 : calls[operation.ordinal]
    }

    /// Counts a call.
    mutating func count(_ operation: VolumeError.Operation) {
        if calls.isEmpty {
            calls = [Int](repeating: 0, count: VolumeError.Operation.ordinals)
        }
        calls[operation.ordinal] += 1
        total += 1
        if operation.changesDisk { mutating += 1 }
    }
}

extension VolumeError.Operation {
    static let ordinals = 13

    var ordinal: Int {
        switch self {
        case .list: 0
        case .open: 1
        case .create: 2
        case .size: 3
        case .read: 4
        case .write: 5
        case .synchronize: 6
        case .truncate: 7
        case .map: 8
        case .rename: 9
        case .remove: 10
        case .lock: 11
        case .synchronizeNames: 12
        }
    }

    /// Whether a power cut during the call can leave the disk in a new state.
    var changesDisk: Bool {
        switch self {
        case .create, .write, .synchronize, .truncate, .rename, .remove, .synchronizeNames: true
        case .list, .open, .size, .read, .map, .lock: false
        }
    }
}

/// A recorded call, as failing tests print it.
struct SimulatedCall: Sendable, CustomStringConvertible {
    let number: Int
    let operation: VolumeError.Operation
    let name: String
    let offset: Int
    let count: Int
    var verdict: SimulatedDisk.CallOutcome

    var description: String {
        let range = operation == .read || operation == .write ? " \(count) bytes at \(offset)" : ""
        let end =
            switch verdict {
            case .proceed: ""
            case .short: " -> short"
            case .flipped: " -> bit flip"
            case .fail(let code): " -> \(code)"
            case .crash: " -> power cut"
            }
        return "\(number): \(operation.rawValue) \(name)\(range)\(end)"
    }
}
