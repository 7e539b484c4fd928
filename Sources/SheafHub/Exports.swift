// A user of `SheafHub` names the engine of a hub without another import.
@_exported public import struct SheafHubLog.HubEngine
