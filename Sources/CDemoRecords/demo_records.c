// The files of examples/demo are part of the program, so that an installed `weir demo` needs none of them. C, since a
// literal of as many bytes takes a Swift compiler a minute.

#include "CDemoRecords.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char bids[] = {
#embed "../../examples/demo/bids.ndjson"
};
static const unsigned char impressions[] = {
#embed "../../examples/demo/impressions.ndjson"
};
static const unsigned char overlay_clicks[] = {
#embed "../../examples/demo/overlay-clicks.ndjson"
};
static const unsigned char postbacks[] = {
#embed "../../examples/demo/postbacks.ndjson"
};
static const unsigned char store_notifications[] = {
#embed "../../examples/demo/store-notifications.ndjson"
};
static const unsigned char conversion_updates[] = {
#embed "../../examples/demo/conversion-updates.ndjson"
};

static const struct weir_demo_topic topics[] = {
    {"bids", bids, sizeof bids},
    {"impressions", impressions, sizeof impressions},
    {"overlay-clicks", overlay_clicks, sizeof overlay_clicks},
    {"postbacks", postbacks, sizeof postbacks},
    {"store-notifications", store_notifications, sizeof store_notifications},
    {"conversion-updates", conversion_updates, sizeof conversion_updates},
};

const struct weir_demo_topic *_Nullable weir_demo_topic(size_t index) {
    return index < sizeof topics / sizeof topics[0] ? &topics[index] : NULL;
}
