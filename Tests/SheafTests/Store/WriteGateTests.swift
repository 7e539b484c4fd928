import Sheaf
import SheafTestSupport
import Synchronization
import Testing

/// The gate against the dullest model: a queue of all who came and have not gone.
struct WriteGateTests {
    private typealias Person = (number: UInt64, kind: WriteGate.Kind)

    /// Who is in, and who waits in the order in which they came.
    private struct Model {
        var inside: [Person] = []
        var waiting: [Person] = []

        func hasRoom(for kind: WriteGate.Kind) -> Bool {
            switch kind {
            case .statement: inside.allSatisfy { $0.kind == .statement }
            case .transaction: inside.isEmpty
            }
        }

        /// Lets those in who are first, as long as there is room; returns their numbers.
        mutating func admit() -> [UInt64] {
            var admitted: [UInt64] = []
            while let first = waiting.first, hasRoom(for: first.kind) {
                inside.append(waiting.removeFirst())
                admitted.append(first.number)
            }
            return admitted
        }
    }

    @Test func `who came first is let in first, whoever comes, goes and gives up`() {
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
        var (next, gaveUpEarly): (UInt64, [UInt64]) = (1, [])
        let idleCalls = Mutex(0)
        var isClosing = false
        for step in 0..<steps {
            switch random.below(isClosing ? 12 : 10) {
            case 0..<5:
                let person: Person = (next, random.chance(1, in: 2) ? .statement : .transaction)
                next += 1
                let mayEnter =
                    !isClosing && model.waiting.isEmpty && model.hasRoom(for: person.kind)
                if gate.enter(person.kind) {
                    #expect(mayEnter)
                    model.inside.append(person)
                    continue
                }
                #expect(!mayEnter)
                let givesUp = random.chance(1, in: 8)
                if givesUp { #expect(gate.cancel(person.number).cancelled == nil) }
                let waiter = WriteGate.Waiter(number: person.number, kind: person.kind) { _ in }
                let outcome = gate.wait(waiter)
                #expect(outcome == (givesUp ? .cancelled : isClosing ? .closed : nil))
                if outcome == nil {
                    model.waiting.append(person)
                } else {
                    gate.forget(person.number)
                }
            case 5..<8:
                guard !model.inside.isEmpty else { continue }
                let person = model.inside.remove(at: random.below(model.inside.count))
                #expect(gate.leave(person.kind).map(\.number) == model.admit())
            case 8:
                guard !model.waiting.isEmpty else { continue }
                let person = model.waiting.remove(at: random.below(model.waiting.count))
                let (cancelled, admitted) = gate.cancel(person.number)
                #expect(cancelled?.number == person.number)
                #expect(admitted.map(\.number) == model.admit())
                gate.forget(person.number)
            case 9 where step > steps / 2 && !isClosing:
                isClosing = true
                let isIdle = gate.close { idleCalls.withLock { $0 += 1 } }
                #expect(isIdle == (model.inside.isEmpty && model.waiting.isEmpty))
                if isIdle { idleCalls.withLock { $0 += 1 } }
            case 9:
                // Somebody who was let in gives up too late, and that is forgotten.
                gaveUpEarly = model.inside.prefix(1).map(\.number)
                for number in gaveUpEarly {
                    let (cancelled, admitted) = gate.cancel(number)
                    #expect(cancelled == nil && admitted.isEmpty)
                    gate.forget(number)
                }
            default: break
            }
            gate.takeIdleWaiter()?()
            #expect(gate.isIdle == (model.inside.isEmpty && model.waiting.isEmpty))
            if !gate.isIdle { #expect(isClosing ? idleCalls.withLock { $0 } == 0 : true) }
        }
        while let person = model.inside.popLast() {
            #expect(gate.leave(person.kind).map(\.number) == model.admit())
            gate.takeIdleWaiter()?()
        }
        #expect(model.waiting.isEmpty)
        #expect(gate.isIdle)
        #expect(idleCalls.withLock { $0 } == (isClosing ? 1 : 0))
    }
}
