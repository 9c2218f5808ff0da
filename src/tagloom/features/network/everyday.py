"""Everyday words for what photos show: what tagloom looks for where nobody has named a tag yet."""

__all__ = ["EVERYDAY_WORDS"]

#: At one level: hardly any word is a kind of another.
_TEXT = """
    dog cat horse cow sheep goat pig donkey camel llama elephant zebra giraffe rhinoceros lion tiger
    leopard cheetah bear panda koala kangaroo monkey gorilla wolf fox deer moose bison rabbit squirrel hedgehog beaver
    otter seal walrus dolphin whale shark bat mouse hamster bird duck goose swan chicken turkey peacock owl eagle
    vulture pelican flamingo stork gull parrot penguin ostrich hummingbird snake lizard turtle frog crocodile fish
    crab lobster snail jellyfish starfish octopus butterfly bee dragonfly ladybug ant spider grasshopper beach coast
    cliff lake river waterfall mountain volcano valley desert forest field snow glacier geyser reef flower rose daisy
    sunflower orchid mushroom cactus tree leaf grass apple banana orange lemon strawberry pineapple grape fig pear
    corn cucumber broccoli cauliflower cabbage pumpkin carrot pepper bread sandwich pizza hamburger hotdog cake pie
    ice-cream pasta soup salad cheese chocolate coffee tea wine beer car bus truck tractor motorcycle bicycle scooter
    train tram locomotive airplane helicopter balloon boat sailboat ship canoe gondola ambulance taxi house castle
    church mosque monastery palace tower lighthouse bridge dam pier fountain statue windmill barn greenhouse stadium
    fence road street railway table chair bench sofa bed desk bookcase lamp clock mirror curtain carpet pillow bathtub
    sink toilet refrigerator oven stove dishwasher washer computer laptop keyboard television telephone camera radio
    printer screen book newspaper pencil pen umbrella backpack handbag suitcase wallet glasses sunglasses hat helmet
    shoe sandal boot shirt dress suit jacket swimsuit tie mask guitar piano violin drum trumpet saxophone flute
    accordion ball racket ski skateboard surfboard swing slide tent parachute kite bottle cup mug plate bowl fork
    knife spoon pan teapot vase basket box bucket candle hammer screwdriver scissors saw shovel ladder rope chain key
    baby bride groom diver player clown fireworks parade wedding
"""

EVERYDAY_WORDS: tuple[str, ...] = tuple(_TEXT.split())
