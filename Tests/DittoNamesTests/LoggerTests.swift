import DittoNames
import Foundation
import Sheaf
import SheafEngine
import SheafTestSupport
import Synchronization
import Testing

/// Log messages of databases; serialized because a process has one logger.
@Suite(.serialized) struct LoggerTests {
    @Test func `sync starts with no peer to reach, and logs a note`() async throws {
        let notes = Mutex<[String]>([])
        DittoLogger.setCustomLogCallback { level, message in
            guard message.contains("no peer can be reached") else { return }
            notes.withLock { $0.append("\(level): \(message)") }
        }
        defer { DittoLogger.setCustomLogCallback(nil) }
        let ditto = try await LoopbackScene.ditto()
        try! ditto.startSync()
        #expect(ditto.isSyncActive)
        #expect(notes.withLock { $0.contains { $0.hasPrefix("info: ") } })
        #expect(notes.withLock { $0.allSatisfy { $0.contains("connect.tcpServers") } })
        // An address added later is dialed without restarting sync.
        let other = try await LoopbackScene.ditto()
        let address = try await LoopbackScene.listen(other)
        ditto.updateTransportConfig { $0.connect.tcpServers.insert(address) }
        _ = await ditto.graph { !$0.remotePeers.isEmpty }
        try await ditto.close()
        try await other.close()
    }

    @Test func `with the local network enabled, sync listens and logs no note`() async throws {
        let notes = Mutex<[String]>([])
        DittoLogger.setCustomLogCallback { level, message in
            notes.withLock { $0.append("\(level): \(message)") }
        }
        defer { DittoLogger.setCustomLogCallback(nil) }
        let ditto = try await LoopbackScene.ditto()
        let (addresses, found) = AsyncStream.makeStream(of: String.self)
        let peer = try #require(ditto.peer)
        peer.presence.onTransportEvent { event in
            if case .listening(let address) = event { found.yield(address) }
        }
        ditto.updateTransportConfig { $0.peerToPeer.lan.isEnabled = true }
        try ditto.startSync()
        for await address in addresses {
            #expect(address.hasPrefix("0.0.0.0:") && address != "0.0.0.0:0")
            break
        }
        let texts = notes.withLock { $0 }
        #expect(!texts.contains { $0.contains("no peer can be reached") })
        #expect(!texts.contains { $0.contains("has no effect") })
        // Without multicast DNS, nothing finds peers.
        ditto.updateTransportConfig { $0.peerToPeer.lan.isMdnsEnabled = false }
        ditto.stopSync()
        try ditto.startSync()
        #expect(notes.withLock { $0.contains { $0.contains("no peer can be reached") } })
        try await ditto.close()
    }

    @Test func `a denied connection logs a warning, and both sides show the reason in presence`()
        async throws
    {
        let (left, right) = (try await LoopbackScene.ditto(), try await LoopbackScene.ditto())
        let key = right.presence.graph.localPeer.peerKeyString
        let expected = "connectionRequestHandler denied \(key)"
        let (lines, found) = AsyncStream.makeStream(of: String.self)
        DittoLogger.setCustomLogCallback { level, message in
            if message.contains(expected) { found.yield("\(level): \(message)") }
        }
        defer { DittoLogger.setCustomLogCallback(nil) }
        left.presence.connectionRequestHandler = { _ in .deny }
        let address = try await LoopbackScene.listen(left)
        right.updateTransportConfig { config in
            config.connect.tcpServers.insert(address)
            config.connect.retryInterval = 0.1
        }
        try right.startSync()
        for await line in lines {
            #expect(line.hasPrefix("warning: a connection was refused"), "\(line)")
            break
        }
        let denial = "this side closed the connection: \(expected)"
        let local = await left.graph { $0.disconnectedPeers.first?.reason == denial }
        #expect(local.disconnectedPeers.map(\.peerKeyString) == [key])
        // On a slow machine, one of the attempts may end before the handler has answered.
        let refusal = "the other side closed the connection: refused by the application"
        let remote = await right.graph { $0.disconnectedPeers.first?.reason == refusal }
        let gone = try #require(remote.disconnectedPeers.first)
        #expect(gone.peerKeyString == left.presence.graph.localPeer.peerKeyString)
        #expect(gone.address == address && gone.since.timeIntervalSinceNow < 1)
        #expect(local.remotePeers.isEmpty && remote.remotePeers.isEmpty)
        let rows = try await left.store.execute(query: "SELECT * FROM system:data_sync_info")
        #expect(rows.items.map { $0.jsonString() }.joined().contains(expected))
        try await left.close()
        try await right.close()
    }

    @Test func `the default level is info, and the five levels of a store stay distinct`()
        async throws
    {
        #expect(DittoLogger.minimumLogLevel == .info)
        #expect(
            StoreLog.Level.allCases.map { DittoLogLevel($0) }
                == [.verbose, .debug, .info, .warning, .error])
        #expect(Set(StoreLog.Level.allCases.map { DittoLogLevel($0) }).count == 5)
    }

    @Test func `a slow transaction is reported from debug upward, and by default from info`()
        async throws
    {
        let usual = DittoLogger.minimumLogLevel
        defer {
            DittoLogger.minimumLogLevel = usual
            DittoLogger.setCustomLogCallback(nil)
        }
        for level in [usual, .verbose] {
            let hint = "slow at \(level)"
            let (levels, found) = AsyncStream.makeStream(of: DittoLogLevel.self)
            DittoLogger.setCustomLogCallback { level, message in
                if message.contains(hint) { found.yield(level) }
            }
            DittoLogger.minimumLogLevel = level
            let ditto = try await Ditto.inMemory()
            for parameter in [
                "transaction_duration_before_logging_ms = 0", "transaction_trace_interval_ms = 1",
            ] { try await ditto.store.execute("ALTER SYSTEM SET \(parameter)") }
            var seen: [DittoLogLevel] = []
            try await ditto.store.transaction(hint: hint) { _ in
                for await level in levels {
                    seen.append(level)
                    if level == .error { return .rollback }
                }
                return .commit
            }
            if level == .verbose { #expect(seen.first == .debug) }
            // A busy machine may skip levels, but never goes back to a lower one.
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.rawValue > $1.rawValue })
            #expect(seen.last == .error && seen.allSatisfy { $0.rawValue <= level.rawValue })
            try await ditto.close()
        }
    }

    @Test func `settings without effect are logged`() async throws {
        let lines = Mutex<[String]>([])
        DittoLogger.setCustomLogCallback { level, message in
            lines.withLock { $0.append("\(level): \(message)") }
        }
        defer { DittoLogger.setCustomLogCallback(nil) }
        let level = DittoLogger.minimumLogLevel
        DittoLogger.minimumLogLevel = .info
        defer { DittoLogger.minimumLogLevel = level }
        let directory = TemporaryDirectory()
        let location = URL(fileURLWithPath: directory.path).appendingPathComponent("database")
        let ditto = try Ditto(
            identity: .offlinePlayground(appID: "app", siteID: 7), persistenceDirectory: location)
        #expect(ditto.appID == "app" && ditto.isActivated)
        try ditto.setOfflineOnlyLicenseToken("token")
        ditto.updateTransportConfig { config in
            config.enableAllPeerToPeer()
            config.global.routingHint = 3
        }
        _ = try await LoopbackScene.listen(ditto)
        let logged = lines.withLock { $0 }
        for part in [
            "warning: the site id 7 has no effect", "info: the license token has no effect",
            "warning: peerToPeer.bluetoothLE has no effect",
            "warning: peerToPeer.awdl has no effect",
            "warning: global.routingHint has no effect",
            "warning: any peer that knows the database id",
        ] {
            #expect(logged.contains { $0.hasPrefix(part) }, "\(part)")
        }
        try await ditto.close()
    }

    @Test func `a log file receives messages and is limited in size`() async throws {
        let directory = TemporaryDirectory()
        let url = URL(fileURLWithPath: directory.path("logs/ditto.log"))
        DittoLogger.setLogFileURL(url)
        #expect(DittoLogger.enabled)
        let ditto = try await LoopbackScene.ditto()
        try ditto.setOfflineOnlyLicenseToken("token")
        DittoLogger.setLogFileURL(nil)
        try ditto.setOfflineOnlyLicenseToken("token")
        try await ditto.close()
        let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n")
        #expect(lines.count { $0.contains("info: the license token has no effect") } == 1)

        let small = URL(fileURLWithPath: directory.path("small.log"))
        let file = try DittoLogFile(small, maximumLength: 100)
        for number in 10..<40 { file.append("message \(number)\n") }
        let (newer, older) = (
            try String(contentsOf: small, encoding: .utf8),
            try String(contentsOf: small.appendingPathExtension("1"), encoding: .utf8)
        )
        #expect(newer.utf8.count <= 100 && older.utf8.count <= 100)
        #expect((older + newer).hasSuffix("message 38\nmessage 39\n"))
    }

    @Test func `a log file is replaced when a line would make it longer than its limit`() throws {
        #expect(DittoLogFile.maximumLength == 16_777_216)
        let directory = TemporaryDirectory()
        let url = URL(fileURLWithPath: directory.path("exact.log"))
        let older = url.appendingPathExtension("1")
        let file = try DittoLogFile(url, maximumLength: 100)
        for length in [60, 40] { file.append(String(repeating: "x", count: length)) }
        #expect(try Data(contentsOf: url).count == 100)
        #expect(!FileManager.default.fileExists(atPath: older.path))
        file.append("y")
        #expect(try Data(contentsOf: older).count == 100)
        file.append(String(repeating: "z", count: 100))
        #expect(try Data(contentsOf: older) == Data("y".utf8))
        #expect(try Data(contentsOf: url).count == 100)
    }
}
