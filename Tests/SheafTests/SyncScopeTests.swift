import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import Testing

/// The scopes of collections, and the other parameters that are no integers.
@Suite struct SyncScopeTests {
    /// The destinations of each scope in the model.
    private static let destinations: [(name: String?, servers: Bool, peers: Bool)] = [
        (nil, true, true), ("AllPeers", true, true), ("BigPeerOnly", true, false),
        ("SmallPeersOnly", false, true), ("LocalPeerOnly", false, false),
    ]

    private func scopes(_ name: String?) throws -> SyncScopes {
        guard let name else { return SyncScopes() }
        return try SyncScopes(["cars": .string(name)])
    }

    @Test func `scopes are wider than others if they permit a destination that those do not`()
        throws
    {
        for new in Self.destinations {
            let scopes = try scopes(new.name)
            #expect(scopes.isEmpty == (new.name == nil))
            #expect(scopes.allows("cars", toServer: true) == new.servers)
            #expect(scopes.allows("cars", toServer: false) == new.peers)
            #expect(scopes.isShared("cars") == (new.servers || new.peers))
            #expect(scopes.allows("vans", toServer: true) && scopes.isShared("vans"))
            #expect(scopes.scope(of: "cars").rawValue == new.name ?? "AllPeers")
            for old in Self.destinations {
                let others = try self.scopes(old.name)
                let servers = new.servers && !old.servers
                let peers = new.peers && !old.peers
                #expect(scopes.isWiderForServers(than: others) == servers)
                #expect(scopes.isWider(than: others) == (servers || peers))
                #expect(scopes.isWider(than: others, for: "cars") == (servers || peers))
                #expect(!scopes.isWider(than: others, for: "vans"))
            }
        }
    }

    private func refusal(
        _ parameters: inout SystemParameters, _ name: String, _ value: Value
    ) -> StoreError? {
        do throws(StoreError) { _ = try parameters.set(name, to: value) } catch { return error }
        return nil
    }

    @Test func `an invalid scope is refused, and changes nothing`() throws {
        var parameters = SystemParameters()
        let name = "user_collection_sync_scopes"
        _ = try parameters.set(name, to: ["cars": "BigPeerOnly", "vans": "LocalPeerOnly"])
        for value in ["Nobody", "bigpeeronly", 5] as [Value] {
            let error = refusal(&parameters, name, ["cars": "AllPeers", "vans": value])
            #expect(error?.reason == .argument)
            #expect(
                error?.message
                    == "invalid sync scope \(value.json) of vans; expected one of 'AllPeers', "
                    + "'BigPeerOnly', 'SmallPeersOnly', 'LocalPeerOnly'")
        }
        #expect(parameters.syncScopes.scope(of: "cars") == .bigPeerOnly)
        #expect(parameters.syncScopes.scope(of: "vans") == .localPeerOnly)
        try parameters.reset(name)
        #expect(parameters.syncScopes.isEmpty)
    }

    @Test func `booleans take effect when they are set, and are reset with all others`() throws {
        var parameters = SystemParameters()
        for name in [
            "dql_strict_mode", "tombstone_ttl_enabled", "dql_restrict_subscriptions",
        ] {
            for value in [1, "true", .null, [:]] as [Value] {
                #expect(
                    refusal(&parameters, name, value)?.message
                        == "\(name) must be true or false, not \(value.json)")
            }
        }
        _ = try parameters.set("DQL_Strict_Mode", to: true)
        _ = try parameters.set("tombstone_ttl_enabled", to: false)
        _ = try parameters.set("dql_restrict_subscriptions", to: false)
        _ = try parameters.set("tombstone_ttl_hours", to: 1)
        #expect(parameters.isStrict && !parameters.collectsTombstones)
        #expect(!parameters.restrictsSubscriptions)
        try parameters.reset("tombstone_ttl_enabled")
        #expect(parameters.isStrict && parameters.collectsTombstones)
        try parameters.reset(nil)
        #expect(!parameters.isStrict && parameters.restrictsSubscriptions)
        #expect(try parameters.value("tombstone_ttl_hours") == 168)
    }

    @Test func `a store that is opened in strict mode returns to it`() throws {
        var parameters = SystemParameters(isStrict: true)
        #expect(parameters.isStrict)
        _ = try parameters.set("dql_strict_mode", to: false)
        #expect(!parameters.isStrict)
        let row = parameters.rows.first { $0["name"] == "dql_strict_mode" }
        #expect(row?["value"] == false && row?["default"] == true)
        #expect(parameters.all["dql_strict_mode"] == false)
        try parameters.reset("dql_strict_mode")
        #expect(parameters.isStrict && parameters.all["dql_strict_mode"] == true)
    }

    @Test func `strict mode and default directives change the meaning of statements`() throws {
        var parameters = SystemParameters()
        let plain = parameters.meaning
        _ = try parameters.set("tombstone_ttl_hours", to: 5)
        #expect(parameters.meaning == plain)
        _ = try parameters.set("dql_default_directives", to: ["#max_scans": 3])
        let limited = parameters.meaning
        #expect(limited != plain)
        _ = try parameters.set("dql_default_directives", to: ["#max_scans": 4])
        #expect(parameters.meaning != limited && parameters.meaning != plain)
        _ = try parameters.set("dql_strict_mode", to: true)
        _ = try parameters.set("dql_default_directives", to: ["#max_scans": 3])
        #expect(parameters.meaning != limited)
        try parameters.reset(nil)
        #expect(parameters.meaning == plain)
    }

    @Test(arguments: ["rotating_log_file_X", "Mesh_Chooser_y", "transports_z"])
    func `parameters of transports and log files take any value, without effect`(
        name: String
    ) throws {
        var parameters = SystemParameters()
        let lower = name.lowercased()
        #expect(try parameters.value(name) == .null)
        #expect(parameters.all[lower] == nil)
        for value in [5, "text", [:], .null] as [Value] {
            let known = try parameters.set(name, to: value)
            #expect(known == lower)
            #expect(try parameters.value(name) == value)
            let row = parameters.rows.first { $0["name"] == .string(lower) }
            #expect(row?["value"] == value && row?["default"] == nil)
            #expect(row?["description"] == "accepted for compatibility, without effect")
        }
        try parameters.reset(name)
        #expect(parameters.all[lower] == nil)
        let unknown = refusal(&parameters, "my_\(name)", 1)
        #expect(unknown?.reason == .meaning)
        #expect(unknown?.message == "unknown parameter 'my_\(name)'")
    }
}
