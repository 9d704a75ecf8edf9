import Attestation
import ConversionModels
import EventLog

/// A copy of a postback that was decoded, whatever became of it: what the copies of several routes are
/// held against each other by.
package struct PostbackCopy: Sendable {
    /// Which postback it is a copy of.
    package var id: RecordID
    /// How it came.
    package var route: PostbackRoute
    /// The partition that it lies in.
    package var partition: Int32
    /// Its offset.
    package var offset: Int64
    /// Its timestamp, in milliseconds since 1970.
    package var timestampMilliseconds: Int64
    /// What became of it.
    package var outcome: Outcome
    /// Who signed it.
    package var verdict: Verdict
    /// What it carries that nobody signed.
    package var values: UnsignedValues
    /// Whose ad it was.
    package var campaign: CampaignKey
    /// 0 to 2; 0 below 4.0.
    package var sequenceIndex: Int
    /// Whether the campaign is a source identifier, and not a campaign id.
    package var hasSourceIdentifier: Bool
    /// Whether it is of the network that won.
    package var didWin: Bool
}
