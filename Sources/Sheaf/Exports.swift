// A user of `Sheaf` names values, transports and peers without another import.
@_exported public import SheafDocument
@_exported public import SheafStore
@_exported public import SheafTransport

// The public types of the targets below; everything else there is for this package.
@_exported public import struct SheafEngine.StoreLog
@_exported public import struct SheafReplication.DisconnectedPeer
@_exported public import struct SheafReplication.DocumentChecksum
@_exported public import struct SheafReplication.PresenceConnection
@_exported public import struct SheafReplication.PresenceGraph
@_exported public import struct SheafReplication.PresencePeer
@_exported public import struct SheafReplication.RefusedWrite
@_exported public import struct SheafReplication.SyncProgress
@_exported public import struct SheafReplication.SyncStatistics
@_exported public import struct SheafReplication.UnreachableAddress
@_exported public import struct SheafStatements.DQL
@_exported public import struct SheafStatements.QueryArguments
@_exported public import enum SheafSystem.SheafVersion
