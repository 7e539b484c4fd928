#if PostgreSQL
    /// The tables of hub logs, and the statements that use them.
    enum PostgreSQLSchema {
        static let version: UInt64 = 1

        /// Creates the tables, unless they exist; the lock is for hubs that begin together.
        static let creation = """
            SELECT pg_advisory_xact_lock(6001671538534244982);
            DO $$ BEGIN
            IF to_regclass('sheaf.version') IS NULL THEN
                IF to_regnamespace('sheaf') IS NULL THEN CREATE SCHEMA sheaf; END IF;
                CREATE TABLE sheaf.version (version int8 NOT NULL);
                INSERT INTO sheaf.version VALUES (\(version));
                CREATE TABLE sheaf.shard (
                    log bytea, shard int4, last int8 NOT NULL, database bytea NOT NULL,
                    PRIMARY KEY (log, shard)
                ) WITH (fillfactor = 20);
                CREATE TABLE sheaf.message (
                    log bytea, shard int4, position int8, author bytea NOT NULL,
                    sequence int8 NOT NULL, stored int8 NOT NULL
                        DEFAULT floor(extract(epoch FROM clock_timestamp()) * 1000),
                    body bytea NOT NULL CHECK (octet_length(body) <= 1000000),
                    PRIMARY KEY (log, shard, position), UNIQUE (log, shard, author, sequence));
                ALTER TABLE sheaf.message ALTER body SET STORAGE EXTERNAL;
                CREATE TABLE sheaf.object (
                    database bytea, name text COLLATE "C", length int8 NOT NULL,
                    PRIMARY KEY (database, name));
                CREATE TABLE sheaf.chunk (
                    database bytea, name text COLLATE "C", number int8, body bytea NOT NULL,
                    PRIMARY KEY (database, name, number));
                ALTER TABLE sheaf.chunk ALTER body SET STORAGE EXTERNAL;
                CREATE TABLE sheaf.register (
                    database bytea, name text COLLATE "C", revision int8 NOT NULL,
                    body bytea NOT NULL, PRIMARY KEY (database, name));
                CREATE UNLOGGED TABLE sheaf.broadcast (
                    number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                    stored timestamptz NOT NULL DEFAULT clock_timestamp(), body bytea NOT NULL);
            END IF;
            END $$
            """

        /// Settings of each connection; the server notices a lost client after 10 seconds.
        static let settings = """
            SET search_path = pg_catalog; SET client_min_messages = warning;
            SET statement_timeout = '\(PostgreSQLLimits.statementSeconds)s';
            SET idle_in_transaction_session_timeout = '\(PostgreSQLLimits.responseSeconds)s';
            SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2;
            SET tcp_keepalives_count = 3; SET tcp_user_timeout = 10000; SET enable_seqscan = off;
            """

        /// Returns the number of the cluster, its timeline in hexadecimal digits, and settings.
        ///
        /// The timeline is nil on a standby, which has no position to write at.
        static let server = """
            SELECT system_identifier::text, CASE WHEN pg_is_in_recovery() THEN NULL
                ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END,
                current_setting('fsync'), current_setting('full_page_writes'),
                current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
                current_setting('transaction_read_only')
            FROM pg_control_system()
            """

        // MARK: - Messages; $1 log, $2 shard, $3 author, $4 sequence, $5 body

        /// Takes the next number of the shard and stores a message under it.
        ///
        /// The row of the shard stays locked until the commit, so numbers become visible in order,
        /// and a transaction that fails leaves no gap.
        static let append = """
            WITH next AS (UPDATE sheaf.shard SET last = last + 1
                WHERE log = $1::bytea AND shard = $2::int4 RETURNING last)
            INSERT INTO sheaf.message (log, shard, position, author, sequence, body)
            SELECT $1, $2, last, $3::bytea, $4::int8, $5::bytea FROM next
            RETURNING position, true
            """

        /// Stores a message unless it is there; returns its number and whether its bytes are equal.
        ///
        /// The row of the shard is written in both cases: so the commit waits for the standby. An
        /// earlier transaction with the message may not have done that before it was interrupted.
        static let appendAgain = """
            WITH old AS MATERIALIZED (SELECT position, body = $5::bytea AS equal
                FROM sheaf.message WHERE log = $1::bytea AND shard = $2::int4
                AND author = $3::bytea AND sequence = $4::int8),
            next AS (UPDATE sheaf.shard
                SET last = last + CASE WHEN EXISTS (SELECT FROM old) THEN 0 ELSE 1 END
                WHERE log = $1 AND shard = $2 RETURNING last),
            new AS (INSERT INTO sheaf.message (log, shard, position, author, sequence, body)
                SELECT $1, $2, last, $3, $4, $5 FROM next WHERE NOT EXISTS (SELECT FROM old)
                RETURNING position)
            SELECT position, true FROM new UNION ALL SELECT position, equal FROM old
            """

        /// Returns entries from $3 to $4, at most $5 of them with at most $6 bytes.
        ///
        /// With $7, the first one may be longer. The first entry that does not fit follows them,
        /// without its bytes.
        ///
        /// Longer bodies than any message are cut: they are malformed in any case.
        static let read = """
            SELECT position, CASE WHEN fits THEN substr(body, 1, 1000001) END, stored FROM (
                SELECT position, body, stored, fits,
                    lag(fits, 1, true) OVER (ORDER BY position) AS follows
                FROM (SELECT position, body, stored,
                        total <= $6::int8 OR $7::bool AND total = octet_length(body) AS fits
                    FROM (SELECT position, body, stored,
                            sum(octet_length(body)) OVER (ORDER BY position) AS total
                        FROM (SELECT position, body, stored FROM sheaf.message
                            WHERE log = $1::bytea AND shard = $2::int4 AND position >= $3::int8
                            AND position <= $4::int8 ORDER BY position LIMIT $5::int8) AS found
                    ) AS summed) AS fitted
            ) AS compared WHERE follows ORDER BY position
            """

        /// Returns the last number of a shard, and the entry $3 if it is there.
        static let check = """
            SELECT shard.last, substr(message.body, 1, 1000001), message.stored
            FROM sheaf.shard AS shard LEFT JOIN sheaf.message AS message
                ON message.log = shard.log AND message.shard = shard.shard
                AND message.position = $3::int8
            WHERE shard.log = $1::bytea AND shard.shard = $2::int4
            """

        /// Removes the oldest entries before $3, at most $4 of them.
        static let trim = """
            DELETE FROM sheaf.message WHERE log = $1::bytea AND shard = $2::int4
            AND position < least($3::int8, $4::int8 + (SELECT min(position) FROM sheaf.message
                WHERE log = $1 AND shard = $2))
            """

        // MARK: - Logs

        static let create = """
            INSERT INTO sheaf.shard SELECT $1::bytea, n, 0, $3::bytea
            FROM generate_series(0, $2::int4 - 1) AS n ON CONFLICT DO NOTHING
            """
        static let created = """
            SELECT count(*), coalesce(max(last), 0)::int8 FROM sheaf.shard WHERE log = $1::bytea
            """
        static let logs = """
            SELECT DISTINCT log FROM sheaf.shard WHERE database = $1::bytea AND last > 0 ORDER BY log
            """
        static let shards = """
            SELECT count(*) FROM sheaf.shard WHERE log = $1::bytea AND database = $2::bytea
            """
        static let removeShards = "DELETE FROM sheaf.shard WHERE log = $1::bytea"
        static let removeMessages = """
            DELETE FROM sheaf.message WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM sheaf.message WHERE log = $1::bytea LIMIT $2::int8))
            """

        // MARK: - Broadcasts

        static let broadcast = """
            WITH stored AS (INSERT INTO sheaf.broadcast (body) VALUES ($2::bytea) RETURNING number)
            SELECT pg_notify($1::text, number::text) FROM stored
            """
        static let readBroadcasts = """
            SELECT substr(body, 1, 65537) FROM sheaf.broadcast
            WHERE number = ANY (string_to_array($1::text, ',')::int8[]) ORDER BY number
            """
        static let removeBroadcasts = """
            DELETE FROM sheaf.broadcast
            WHERE stored < clock_timestamp() - $1::int8 * interval '1 second'
            """
        static let notify = """
            SELECT pg_notify($1::text, shard) FROM unnest(string_to_array($2::text, ',')) AS shard
            """

        // MARK: - Objects; $1 database, $2 name

        static let putObject = """
            INSERT INTO sheaf.object VALUES ($1::bytea, $2::text, $3::int8) ON CONFLICT DO NOTHING
            """
        static let putChunk = """
            INSERT INTO sheaf.chunk VALUES ($1::bytea, $2::text, $3::int8, $4::bytea)
            """
        static let object = """
            SELECT length FROM sheaf.object WHERE database = $1::bytea AND name = $2::text
            """
        static let chunks = """
            SELECT number, body FROM sheaf.chunk WHERE database = $1::bytea AND name = $2::text
            AND number >= $3::int8 ORDER BY number LIMIT $4::int8
            """
        static let list = """
            SELECT name FROM sheaf.object WHERE database = $1::bytea
            AND starts_with(name, $2::text) ORDER BY name
            """
        static let removeObject = """
            WITH removed AS (DELETE FROM sheaf.chunk
                WHERE database = $1::bytea AND name = $2::text)
            DELETE FROM sheaf.object WHERE database = $1 AND name = $2
            """
        static let load = """
            SELECT body, revision FROM sheaf.register WHERE database = $1::bytea AND name = $2::text
            """
        static let createRegister = """
            INSERT INTO sheaf.register VALUES ($1::bytea, $2::text, 1, $3::bytea)
            ON CONFLICT DO NOTHING
            """
        static let replaceRegister = """
            UPDATE sheaf.register SET body = $3::bytea, revision = revision + 1
            WHERE database = $1::bytea AND name = $2::text AND revision = $4::int8
            """
    }
#endif
