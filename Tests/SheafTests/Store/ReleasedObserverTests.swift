import Sheaf
import SheafStatements
import SheafTestSupport
import Synchronization
import Testing

/// Observers whose handles are released.
@Suite(.timeLimit(.minutes(40)))
struct ReleasedObserverTests {
    /// A value that callbacks capture; its release finishes a stream.
    private final class Captured: Sendable {
        let released: AsyncStream<Void>.Continuation

        init(_ released: AsyncStream<Void>.Continuation) {
            self.released = released
        }

        deinit {
            released.finish()
        }
    }

    @Test func `a released observer receives nothing more and releases its callback`()
        async throws
    {
        let store = try await Store.inMemory()
        let (counts, counter) = AsyncStream<Int>.makeStream()
        let (released, release) = AsyncStream<Void>.makeStream()
        var observer: StoreObserver? = try {
            let captured = Captured(release)
            return try store.observe("SELECT * FROM t") { [captured] result in
                withExtendedLifetime(captured) { _ = counter.yield(result.items.count) }
            }
        }()
        #expect(store.observers.map(ObjectIdentifier.init) == [ObjectIdentifier(observer!)])
        var received = counts.makeAsyncIterator()
        #expect(await received.next() == 0)
        observer = nil
        #expect(store.observers.isEmpty)
        for await _ in released {}
        var others = try store.observe("SELECT * FROM t").makeAsyncIterator()
        #expect(try await others.next()?.items.count == 0)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        #expect(try await others.next()?.items.count == 1)
        counter.finish()
        #expect(await received.next() == nil)
        try await store.close()
    }

    @Test func `an observer that is released in its callback receives nothing more`()
        async throws
    {
        let store = try await Store.inMemory()
        let cell = Mutex<StoreObserver?>(nil)
        let (counts, counter) = AsyncStream<Int>.makeStream()
        // A function, so that the cell has the only reference.
        func observe() throws {
            let observer = try store.observe("SELECT * FROM t") { result in
                if result.items.count > 0 { cell.withLock { $0 = nil } }
                counter.yield(result.items.count)
            }
            cell.withLock { $0 = observer }
        }
        try observe()
        var received = counts.makeAsyncIterator()
        #expect(await received.next() == 0)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        #expect(await received.next() == 1)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
        var others = try store.observe("SELECT * FROM t").makeAsyncIterator()
        #expect(try await others.next()?.items.count == 2)
        counter.finish()
        #expect(await received.next() == nil)
        try await store.close()
    }

    @Test func `an observer can be released at any moment`() async throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("released observers, seed \(seed)")
        var random = SeededRandom(seed: seed, "released observers")
        let store = try await Store.inMemory()
        var kept: [StoreObserver] = []
        for id in 0..<300 {
            let calls = Atomic(0)
            kept.append(
                try store.observe("SELECT * FROM t WHERE _id < \(random.below(50))") { _ in
                    calls.add(1, ordering: .relaxed)
                })
            try await store.execute("INSERT INTO t DOCUMENTS ({'_id': \(id)})")
            while kept.count > random.below(20) { kept.remove(at: random.below(kept.count)) }
            #expect(
                store.observers.map(ObjectIdentifier.init) == kept.map(ObjectIdentifier.init))
        }
        kept = []
        #expect(store.observers.isEmpty)
        try await store.close()
    }

    @Test func `an observer does not retain its store`() async throws {
        let directory = TemporaryDirectory()
        var store: Store? = try await Store.open(at: directory.path("t.sheaf"))
        let observer = try store?.observe("SELECT * FROM t") { _ in }
        store = nil
        // The lock of the directory is released with the store.
        let next = try await Store.open(at: directory.path("t.sheaf"))
        #expect(observer?.isCancelled == true)
        try await next.close()
    }

    @Test func `a released presence observer receives nothing more`() async throws {
        let scene = try await PeerScene(2)
        let (graphs, received) = AsyncStream.makeStream(of: PresenceGraph.self)
        let (released, release) = AsyncStream<Void>.makeStream()
        var observer: PresenceObserver? = {
            let captured = Captured(release)
            return scene.peers[0].presence.observe { [captured] graph in
                withExtendedLifetime(captured) { _ = received.yield(graph) }
            }
        }()
        var iterator = graphs.makeAsyncIterator()
        #expect(await iterator.next()?.remotePeers.isEmpty == true)
        #expect(observer?.isCancelled == false)
        observer = nil
        for await _ in released {}
        scene.connect(0, 1)
        for await graph in scene.peers[0].presence.observe() where graph.remotePeers.count == 1 {
            break
        }
        received.finish()
        #expect(await iterator.next() == nil)
        try await scene.close()
    }

    @Test func `a subscription outlives its handle`() async throws {
        let scene = try await PeerScene(1)
        let sync = scene.peers[0].sync
        try sync.registerSubscription("SELECT * FROM t")
        #expect(sync.subscriptions.map(\.query) == ["SELECT * FROM t"])
        #expect(sync.subscriptions.allSatisfy { !$0.isCancelled })
        for subscription in sync.subscriptions { subscription.cancel() }
        #expect(sync.subscriptions.isEmpty)
        try await scene.close()
    }
}
