import SheafBytes
import SheafHubLog
import SheafHubPostgreSQL
import Testing

/// Tests of the names and parameters of a hub log in PostgreSQL, which need no server.
@Suite struct PostgreSQLNamesTests {
    private static let id = HubLogID(low: 0x0123_4567_89AB_CDEF, high: 0xFEDC_BA98_7654_3210)
    private static let bytes: [UInt8] = [
        0xEF, 0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0x01, 0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC,
        0xFE,
    ]

    @Test func `an id has 16 bytes, the low half first, and their digits`() {
        #expect(Self.id.littleEndianBytes == Self.bytes)
        #expect(Self.id.digits == "efcdab89674523011032547698badcfe")
        #expect(HubShard(65_535, of: Self.id).notification == "\(Self.id.digits)/65535")
        #expect(HubLogID(littleEndianBytes: Self.bytes) == Self.id)
        for count in [0, 15] {
            #expect(HubLogID(littleEndianBytes: Array(Self.bytes.prefix(count))) == nil)
        }
        #expect(HubLogID(littleEndianBytes: Self.bytes + [0]) == nil)
    }

    @Test func `a connection has a limit of unread bytes, and parameters that it may replace`() {
        let configuration = PostgreSQLConfiguration(connection: "host=a", database: Self.id)
        #expect(configuration.connection == "host=a" && configuration.database == Self.id)
        #expect(configuration.unreadLength == 67_108_864)
        let defaults = PostgreSQLConfiguration.defaults.map { "\($0.key)=\($0.value)" }
        #expect(
            defaults == [
                "connect_timeout=5", "tcp_user_timeout=10000", "keepalives_idle=5",
                "keepalives_interval=2", "keepalives_count=3", "target_session_attrs=read-write",
                "application_name=sheaf-hub",
            ])
    }

    @Test(arguments: [
        ("postgresql://hub:pa%2Fss%40@a,b/hubs", false), ("postgresql://hub@a/hubs?x=/@", false),
        ("postgres://a/hubs", false), ("host=a password=p/@q@r", false),
        ("other://hub:p/q@a/hubs", false), ("postgresql://", false),
        ("postgresql://hub:p/q@a/hubs", true), ("postgres://hub:p/q@a/hubs", true),
        ("postgres://hub:p@q@a/hubs", true), ("postgresql://hub:p/q@a/hubs?x=1", true),
    ])
    func `the slashes and at signs in the password of a URL are encoded`(
        _ connection: String, _ hasSecret: Bool
    ) {
        let configuration = PostgreSQLConfiguration(connection: connection, database: Self.id)
        #expect(configuration.hasUnencodedSecret == hasSecret)
    }

    @Test func `the limits of queries and statements have the expected values`() {
        #expect(PostgreSQLLimits.batchMessages == 64)
        #expect(PostgreSQLLimits.batchLength == 4_194_304)
        #expect(PostgreSQLLimits.batchesInFlight == 4)
        #expect(PostgreSQLLimits.readEntries == 1_024)
        #expect(PostgreSQLLimits.readLength == 4_194_304)
        #expect(PostgreSQLLimits.chunkLength == 262_144)
        #expect(PostgreSQLLimits.readChunks == 8)
        #expect(PostgreSQLLimits.trimmedEntries == 10_000)
        #expect(PostgreSQLLimits.idleConnections == 2)
        #expect(PostgreSQLLimits.readBroadcasts == 64)
    }
}
