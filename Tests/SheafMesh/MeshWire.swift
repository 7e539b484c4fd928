import SheafSync
import SheafTestSupport

/// A connection between two peers: bytes in order, in chunks of any length, until it is cut.
final class MeshWire {
    let number: UInt64
    let ends: [Int]
    /// The numbers of reopenings of the two peers when they connected.
    let openings: [Int]
    var isOpen = true
    /// The arrival times of the last chunks at each end, which keep the bytes in order.
    var lastArrival: [UInt64] = [0, 0]
    /// Whether all later bytes to each end are lost.
    var isLost = [false, false]
    /// Whether bytes were delayed or lost in one direction.
    var isHeld = false
    /// Whether bytes were corrupted in transit.
    var isSpoiled = false
    /// The reason for which one side closed the connection.
    var closeMessage: CloseMessage?
    /// The scanners of the bytes to each end; nil if the sender is malicious.
    var scanners: [MarkScanner?] = [nil, nil]
    /// The mutator of the second end's bytes, if that end is malicious.
    var mutator: FrameMutator?
    /// Bytes that have arrived at each end, and are read together with the next ones.
    var unread: [[UInt8]] = [[], []]
    /// Number of bytes sent to a peer that does not read.
    var neglected = 0

    init(_ number: UInt64, _ ends: [Int], _ openings: [Int]) {
        self.number = number
        self.ends = ends
        self.openings = openings
    }
}

/// A scheduled event.
struct MeshEvent {
    package enum Kind {
        case arrive(wire: UInt64, end: Int, [UInt8])
        case broken(wire: UInt64, end: Int)
        case connect(Int, Int)
        case flush(peer: Int, life: Int)
        case write(peer: Int, life: Int, job: Int)
        case act(peer: Int)
        case tick(peer: Int)
        case file(peer: Int)
        case serve(peer: Int, life: Int)
    }

    let time: UInt64
    let order: UInt64
    let kind: Kind
}

/// A queue of events, ordered by time.
struct MeshEventQueue {
    private var heap: [MeshEvent] = []
    private var count: UInt64 = 0

    var isEmpty: Bool { heap.isEmpty }
    var nextTime: UInt64? { heap.first?.time }

    mutating func add(_ kind: MeshEvent.Kind, at time: UInt64) {
        heap.append(MeshEvent(time: time, order: count, kind: kind))
        count += 1
        var child = heap.count - 1
        while child > 0, precedes(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func next() -> MeshEvent? {
        guard let first = heap.first else { return nil }
        heap[0] = heap[heap.count - 1]
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && precedes(child, least) {
                least = child
            }
            if least == parent { return first }
            heap.swapAt(least, parent)
            parent = least
        }
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        (heap[left].time, heap[left].order) < (heap[right].time, heap[right].order)
    }
}
