import Sheaf
import SheafBytes
import SheafHub
import SheafHubEngine
import SheafReplication
import SheafSystem
import SheafTestSupport
import Testing

/// The threads that maintain the log of a hub.
@Suite struct HubMaintenanceThreadTests {
    private static let database = XXH3.Hash128(low: 3, high: 4)

    @Test func `the threads do nothing between two steps, except on request`() async throws {
        let scene = HubScene()
        let peer = try await Peer.inMemory(configuration: scene.configuration(.random()))
        // Without a configuration, each step and each request fails.
        let file = ConfigurationFile(MemoryHubLog(MemoryHubEngine()), of: Self.database)
        var settings = HubSettings()
        (settings.stepMilliseconds, settings.retryMilliseconds) = (3_600_000, 3_600_000)
        let steps = Monitor<[HubMaintenanceThread.Work: Int]>([:])
        let thread = try HubMaintenanceThread(peer, file, key: [1], settings) { work, _ in
            steps.withLock { $0[work, default: 0] += 1 }
            steps.broadcast()
        }
        let failures = try await Thread.run(name: "sheaf-test") {
            steps.wait(until: Clock.testDeadline(), while: { $0.count < 2 })
            var failures = 0
            for _ in 0..<50 {
                do { _ = try thread.replace(isForced: false) } catch { failures += 1 }
            }
            thread.stop()
            return failures
        }
        #expect(failures == 50)
        // One step of each thread after the start, and one for each request.
        let counts = steps.withLock { $0 }
        #expect(counts == [.log: 51, .snapshots: 1])
        try await peer.close()
    }

    @Test func `no log is replaced before the first request`() async throws {
        let scene = HubScene()
        let peer = try await Peer.inMemory(configuration: scene.configuration(.random()))
        let file = ConfigurationFile(MemoryHubLog(MemoryHubEngine()), of: Self.database)
        // A step leaves the log of a newer release alone, and a request to replace it fails.
        _ = try file.loadOrCreate(shardCount: 1, format: 2) { 5 }
        var settings = HubSettings()
        settings.versions = 1...1
        (settings.stepMilliseconds, settings.retryMilliseconds) = (3_600_000, 3_600_000)
        let successes = Monitor<[Bool]>([])
        let thread = try HubMaintenanceThread(peer, file, key: [1], settings) { work, outcome in
            guard case .log = work else { return }
            let isSuccess = if case .success = outcome { true } else { false }
            successes.withLock { $0.append(isSuccess) }
            successes.broadcast()
        }
        let isRefused = try await Thread.run(name: "sheaf-test") {
            successes.wait(until: Clock.testDeadline(), while: { $0.isEmpty })
            var isRefused = false
            do { _ = try thread.replace(isForced: false) } catch { isRefused = true }
            thread.stop()
            return isRefused
        }
        #expect(isRefused)
        let found = successes.withLock { $0 }
        #expect(found == [true, false])
        try await peer.close()
    }

    @Test func `a request fails once the threads have ended`() async throws {
        let scene = HubScene()
        let peer = try await Peer.inMemory(configuration: scene.configuration(.random()))
        let file = ConfigurationFile(MemoryHubLog(MemoryHubEngine()), of: Self.database)
        let thread = try HubMaintenanceThread(peer, file, key: [1]) { _, _ in }
        let failure = try await Thread.run(name: "sheaf-test") { () -> SnapshotFailure? in
            thread.stop()
            do throws(SnapshotFailure) {
                _ = try thread.replace(isForced: false)
                return nil
            } catch {
                return error
            }
        }
        #expect(failure == .stopped)
        try await peer.close()
    }
}
