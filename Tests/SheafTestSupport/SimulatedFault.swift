package import SheafStorage

/// A call that goes wrong, or all calls from one on.
package struct SimulatedFault: Sendable {
    /// What the call does instead of its work.
    package enum Effect: Sendable {
        /// It throws; a write may leave a part, and a synchronization loses what it should keep.
        case error(VolumeError.Code)
        /// It reads or writes fewer bytes than asked, but at least one.
        case short
        /// It reads what is there with one bit turned over.
        case flipped
    }

    let effect: Effect
    let isSticky: Bool
    private let operation: VolumeError.Operation?
    private let suffix: String?
    private var callsBefore: Int

    /// A fault at the `call`th of the calls to come, counted from one, or from that one on for ever.
    ///
    /// Only calls of this kind, on files whose name ends so, are counted and hit.
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

    /// Counts a call, and says whether the fault hits it.
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

/// How often a simulated volume was called.
package struct SimulatedCounters: Sendable {
    private var calls: [Int] = []
    /// All calls but `close`.
    package private(set) var total = 0
    /// The calls that change the disk, which `crashAtCall` counts.
    package private(set) var mutating = 0
    package internal(set) var bytesWritten = 0
    /// The calls that did change something: without one in between, the disk is as it was.
    package internal(set) var changes = 0

    /// How many calls of one kind there were.
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

    /// Whether a crash at the call can leave the disk in another state than one before it.
    var changesDisk: Bool {
        switch self {
        case .create, .write, .synchronize, .truncate, .rename, .remove, .synchronizeNames: true
        case .list, .open, .size, .read, .map, .lock: false
        }
    }
}

/// One call, as a failing test prints it.
struct SimulatedCall: Sendable, CustomStringConvertible {
    let number: Int
    let operation: VolumeError.Operation
    let name: String
    let offset: Int
    let count: Int
    var verdict: SimulatedDisk.Verdict

    var description: String {
        let place = operation == .read || operation == .write ? " \(count) bytes at \(offset)" : ""
        let end =
            switch verdict {
            case .proceed: ""
            case .short: " -> short"
            case .flipped: " -> another bit"
            case .fail(let code): " -> \(code)"
            case .crash: " -> the power is cut"
            }
        return "\(number): \(operation.rawValue) \(name)\(place)\(end)"
    }
}
