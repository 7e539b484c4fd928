import SheafSync
import SheafTestSupport

/// A connection between two peers: bytes in order, in pieces of any length, until it breaks.
final class MeshWire {
    let number: UInt64
    let ends: [Int]
    /// The lives of the ends at which it was made.
    let lives: [Int]
    var isOpen = true
    /// When the last piece arrives at each end: bytes stay in their order.
    var lastArrival: [UInt64] = [0, 0]
    /// Whether all that goes to each end is lost from now on.
    var isLost = [false, false]
    /// Whether something was held or lost in one direction.
    var isHeld = false
    /// Whether bytes were changed on their way.
    var isSpoiled = false
    /// Why one side has ended it.
    var farewell: Farewell?
    /// What looks at what goes to each end, where that may not see everything.
    var scanners: [MarkScanner?] = [nil, nil]
    /// What becomes of what the second end says, where that is not to be trusted.
    var mangler: Mangler?
    /// What has arrived at each end and is read together with the next bytes.
    var unread: [[UInt8]] = [[], []]
    /// How many bytes wait for somebody who does not read.
    var neglected = 0

    init(_ number: UInt64, _ ends: [Int], _ lives: [Int]) {
        self.number = number
        self.ends = ends
        self.lives = lives
    }
}

/// What happens, and when.
struct MeshEvent {
    enum Kind {
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

/// Events in the order of their times.
struct MeshAgenda {
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
