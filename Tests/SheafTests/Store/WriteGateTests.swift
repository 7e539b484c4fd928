import Sheaf
import SheafTestSupport
import Synchronization
import Testing

/// The write gate, compared with a model that is a plain queue.
struct WriteGateTests {
    /// The writer in the gate, and the waiting writers in order of arrival.
    private struct Model {
        var inside: UInt64?
        var waiting: [UInt64] = []

        /// Admits the first waiting writer; returns its number.
        mutating func admit() -> UInt64? {
            inside = waiting.isEmpty ? nil : waiting.removeFirst()
            return inside
        }
    }

    @Test func `waiting writers are admitted in order, also with cancellations`() {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("gate, seed \(seed)")
        for life in 0..<300 {
            var random = SeededRandom(seed: seed &+ UInt64(life), "gate")
            run(&random, steps: 200)
        }
    }

    private func run(_ random: inout SeededRandom, steps: Int) {
        var gate = WriteGate()
        var model = Model()
        var next: UInt64 = 1
        let idleCalls = Mutex(0)
        var isClosing = false
        for step in 0..<steps {
            switch random.below(isClosing ? 12 : 10) {
            case 0..<5:
                let writer = next
                next += 1
                let mayEnter = !isClosing && model.inside == nil
                if gate.enter() {
                    #expect(mayEnter)
                    model.inside = writer
                    continue
                }
                #expect(!mayEnter)
                let givesUp = random.chance(1, in: 8)
                if givesUp { #expect(gate.cancel(writer) == nil) }
                let outcome = gate.wait(WriteGate.Waiter(number: writer) { _ in })
                #expect(outcome == (givesUp ? .cancelled : isClosing ? .closed : nil))
                if outcome == nil {
                    model.waiting.append(writer)
                } else {
                    gate.clearCancellation(writer)
                }
            case 5..<8:
                guard model.inside != nil else { continue }
                #expect(gate.leave()?.number == model.admit())
            case 8:
                guard !model.waiting.isEmpty else { continue }
                let writer = model.waiting.remove(at: random.below(model.waiting.count))
                #expect(gate.cancel(writer)?.number == writer)
                gate.clearCancellation(writer)
            case 9 where step > steps / 2 && !isClosing:
                isClosing = true
                let isIdle = gate.close { idleCalls.withLock { $0 += 1 } }
                #expect(isIdle == (model.inside == nil))
                if isIdle { idleCalls.withLock { $0 += 1 } }
            case 9:
                // A cancellation after admission has no effect.
                guard let writer = model.inside else { continue }
                #expect(gate.cancel(writer) == nil)
                gate.clearCancellation(writer)
            default: break
            }
            gate.takeIdleWaiter()?()
            #expect(gate.isIdle == (model.inside == nil))
            if !gate.isIdle { #expect(isClosing ? idleCalls.withLock { $0 } == 0 : true) }
        }
        while model.inside != nil {
            #expect(gate.leave()?.number == model.admit())
            gate.takeIdleWaiter()?()
        }
        #expect(model.waiting.isEmpty)
        #expect(gate.isIdle)
        #expect(idleCalls.withLock { $0 } == (isClosing ? 1 : 0))
    }
}
